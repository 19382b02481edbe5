import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { indexable, wordsQuery } from '../../daemon/memory/search-index.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

async function write(rig: Rig, file: string, text: string): Promise<void> {
  await rig.memory.put(rig.cwd, person, { file, content: text }, 'x')
}

async function found(memory: Rig['memory'], rig: Rig, q: string, type?: 'project' | 'user'): Promise<string[]> {
  return (await memory.reading.list(rig.cwd, person, { type, q })).items.map(({ file }) => file)
}

async function somewhere(): Promise<Rig> {
  const rig = await memoryRig()
  await write(rig, 'auth.md', topic('Refresh before the hour is over.', 'Auth token renewal'))
  await write(rig, 'deploy.md', topic('部署脚本在 ops 目录里。', 'Deploying'))
  await write(rig, 'tokens.md', topic('Design tokens live in figma; a token is a colour.', 'Colours'))
  return rig
}

/** Writes into index.db within a transaction of its own, and commits it while another connection waits. */
const OTHER = `
const { parentPort, workerData } = require('node:worker_threads')
const Database = require('better-sqlite3')
const db = new Database(workerData)
db.exec("BEGIN IMMEDIATE; INSERT INTO memories (dir, file, hash) VALUES ('/x', 'x.md', 'h')")
parentPort.postMessage('begun')
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
db.exec('COMMIT')`

describe('a search over memories', () => {
  it('waits for another connection that writes, in place of failing with "database is locked"', async () => {
    const rig = await somewhere()
    await found(rig.memory, rig, 'token')
    writeFileSync(join(rig.dir, 'zebra.md'), topic('Stripes.', 'Zebra'))
    await rig.memory.lookEverywhere()
    const other = new Worker(OTHER, { eval: true, workerData: join(rig.state, 'index.db') })
    await once(other, 'message')
    const ended = once(other, 'exit')
    expect(await found(rig.memory, rig, 'stripes')).toEqual(['zebra.md'])
    await ended
  })

  it('finds what holds all words, else any, best first, whatever their form', async () => {
    const rig = await somewhere()
    expect(await found(rig.memory, rig, 'token')).toEqual(['auth.md', 'tokens.md'])
    expect(await found(rig.memory, rig, 'refreshing tokens')).toEqual(['auth.md'])
    expect(await found(rig.memory, rig, '脚本')).toEqual(['deploy.md'])
    expect(await found(rig.memory, rig, 'figma zebra')).toEqual(['tokens.md'])
    expect(await found(rig.memory, rig, 'zebra')).toEqual([])
    expect(await found(rig.memory, rig, '"*:)(')).toEqual([])
    expect(await found(rig.memory, rig, 'token', 'user')).toEqual([])
  })

  it('follows every change, also one that another program made', async () => {
    const rig = await somewhere()
    await write(rig, 'auth.md', topic('Nothing to see.', 'Auth'))
    expect(await found(rig.memory, rig, 'renewal')).toEqual([])
    await rig.memory.forget(rig.cwd, person, 'tokens.md', { reject: false, ifHash: undefined })
    expect(await found(rig.memory, rig, 'figma')).toEqual([])
    writeFileSync(join(rig.dir, 'zebra.md'), topic('Stripes.', 'Zebra'))
    await rig.memory.lookEverywhere()
    expect(await found(rig.memory, rig, 'stripes')).toEqual(['zebra.md'])
  })

  it('gives the same answers when the index was deleted', async () => {
    const rig = await somewhere()
    const before = await found(rig.memory, rig, 'token')
    rig.store.close()
    for (const tail of ['', '-wal', '-shm']) rmSync(join(rig.state, `index.db${tail}`), { force: true })
    const { memory } = await rig.open()
    expect(await found(memory, rig, 'token')).toEqual(before)
    expect(before).toHaveLength(2)
  })

  it('has the words in the index a moment after a write, and none of them after it was wiped', async () => {
    const rig = await somewhere()
    await write(rig, 'secret.md', topic('The quagga is extinct.'))
    rig.time.pass(200)
    const bytes = () => ['', '-wal'].map((tail) => readFileSync(join(rig.state, `index.db${tail}`), 'latin1')).join('')
    expect(bytes()).toContain('quagga')
    await rig.memory.forget(rig.cwd, person, 'secret.md', { reject: false, ifHash: undefined })
    rig.time.pass(200)
    rig.memory.searchIndex.wipe()
    expect(bytes()).not.toContain('quagga')
    expect(await found(rig.memory, rig, 'token')).toEqual(['auth.md', 'tokens.md'])
    expect(bytes()).not.toContain('quagga')
  })
})

describe('text for the index', () => {
  it('is the text, with scripts that have no spaces as pairs of characters', () => {
    expect(indexable('run npm test')).toBe('run npm test')
    expect(indexable('部署脚本 v2')).toBe(' 部署 署脚 脚本  v2')
    expect(indexable('用')).toBe(' 用 ')
  })
})

describe('a question', () => {
  it.each([
    ['token refresh', '"token" AND "refresh"'],
    ['NOT (a OR b)* "x" col:y', '"NOT" AND "a" AND "OR" AND "b" AND "x" AND "col" AND "y"'],
    ['部署脚本', '"部署 署脚 脚本"'],
    ['deploy脚本', '"deploy" AND "脚本"'],
    ['！？…', undefined],
  ])('%s holds words and no operators', (text, query) => {
    expect(wordsQuery(text, 'all')).toBe(query)
  })
})
