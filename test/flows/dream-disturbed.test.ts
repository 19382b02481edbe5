import { appendFileSync, lstatSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { connectAs } from '../support/connect-as.ts'
import { dreamGround, dreamModel, goodDream, snapshot } from '../support/dream-ground.ts'
import { collectEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'

const PERSON = 'And bring the contract along.\n'

/** A dream of the sixty memories, and what another program does to the directory right before its model is done. */
async function disturbed(disturb: (dir: string, home: Home) => void) {
  const { home } = await dreamModel((n, dir) => {
    if (n === 3) disturb(dir, home)
    return goodDream(n)
  })
  const ground = dreamGround(home)
  return { ...ground, ...(await dreamtOf(home, ground.cwd)) }
}

async function dreamtOf(home: Home, cwd: string) {
  await startDaemon(home)
  const client = connectAs(home, 'user')
  const events = await collectEvents(client, 'dream')
  await client.dream({ cwd, force: true })
  await events.until((seen) => seen.some(({ state }) => state !== 'running'))
  return { home, client, end: events.seen.at(-1), last: (await client.dreamStatus({ cwd })).last }
}

describe('while a dream goes on', () => {
  it('what a person writes into a memory that it changes stays, and nothing of the dream is kept but what it cost', async () => {
    const { dir, before, last } = await disturbed((dir) => appendFileSync(join(dir, 'demo_0.md'), PERSON))
    expect(last).toMatchObject({ outcome: 'failed', why: 'a memory was changed meanwhile', mode: 'model', turns: 3 })
    expect(last?.spent?.usd).toBeGreaterThan(0)
    expect(snapshot(dir)).toEqual({ ...before, 'demo_0.md': `${before['demo_0.md']}${PERSON}` })
    expect(lstatSync(join(dir, LOCK_FILE), { throwIfNoEntry: false })).toBeUndefined()
  })

  it('what a person writes, adds and removes elsewhere is part of what it leaves', async () => {
    const added = printTopic({
      name: 'Coffee',
      description: 'Where it is',
      type: 'project',
      body: 'On the third floor',
    })
    const { dir, before, last } = await disturbed((dir) => {
      writeFileSync(join(dir, 'coffee.md'), added)
      appendFileSync(join(dir, 'project_billing0.md'), PERSON)
      rmSync(join(dir, 'project_mail0.md'))
    })
    expect(last).toMatchObject({ outcome: 'applied', merged: 5, updated: 4, removed: 3, created: 0 })
    const after = snapshot(dir)
    expect(after['coffee.md']).toBe(added)
    expect(after['project_billing0.md']).toBe(`${before['project_billing0.md']}${PERSON}`)
    const pointers = [...(after['MEMORY.md'] ?? '').matchAll(/\]\(([^)]+)\)/g)].map(([, file]) => file)
    expect(pointers).toContain('coffee.md')
    expect(pointers).not.toContain('project_mail0.md')
    expect('project_mail0.md' in after).toBe(false)
  })

  it('another program that takes the lock has it, and nothing is written', async () => {
    const { dir, before, end, last } = await disturbed((dir) => writeFileSync(join(dir, LOCK_FILE), '1'))
    expect(end).toMatchObject({ state: 'killed', why: 'it was taken over meanwhile' })
    expect(last).toBeUndefined()
    expect(snapshot(dir)).toEqual(before)
    expect(readFileSync(join(dir, LOCK_FILE), 'utf8')).toBe('1')
  })

  it('nothing is written through a link that another program puts in the place of a memory', async () => {
    const outside = (home: Home) => join(home.dir, 'outside.md')
    const { dir, before, home, last } = await disturbed((dir, home) => {
      writeFileSync(outside(home), readFileSync(join(dir, 'demo_0.md')))
      rmSync(join(dir, 'demo_0.md'))
      symlinkSync(outside(home), join(dir, 'demo_0.md'))
    })
    expect(last).toMatchObject({ outcome: 'failed', why: expect.any(String) })
    expect(readFileSync(outside(home), 'utf8')).toBe(before['demo_0.md'])
    expect(lstatSync(join(dir, 'demo_0.md')).isSymbolicLink()).toBe(true)
    expect(snapshot(dir)).toEqual(before)
  })
})

describe('what no dream can read', () => {
  it('is left to the byte: a memory and an index in no text, and a link', async () => {
    const home = makeHome()
    const { cwd, dir } = dreamGround(home)
    const latin = Buffer.from('---\nname: Caf\xe9\n---\n\nIm Caf\xe9\n', 'latin1')
    const index = Buffer.from('- [Caf\xe9](latin.md) \xb7 Caf\xe9\n- [Gone](gone_1.md)\n', 'latin1')
    writeFileSync(join(dir, 'latin.md'), latin)
    writeFileSync(join(dir, 'MEMORY.md'), index)
    symlinkSync('/etc/hostname', join(dir, 'link.md'))
    const { last } = await dreamtOf(home, cwd)
    expect(last).toMatchObject({ outcome: 'applied', merged: 5, repairs: { dangling: 0, orphan: 0 } })
    expect(last?.index).toMatchObject({ after: last?.index?.before })
    expect(readFileSync(join(dir, 'latin.md'))).toEqual(latin)
    expect(readFileSync(join(dir, 'MEMORY.md'))).toEqual(index)
    expect(lstatSync(join(dir, 'link.md')).isSymbolicLink()).toBe(true)
  })
})

describe('a directory without memories', () => {
  it.each([
    ['an empty one', {}],
    ['one with a log alone', { 'logs/2026/06/2026-06-30.md': '- said\n' }],
  ])('has nothing to be put in order: %s', async (_what, files) => {
    const { home } = await dreamModel(() => ({ content: [{ type: 'text', text: 'Nothing.' }] }))
    const { cwd, dir, before } = dreamGround(home, { files, index: '' })
    const { last } = await dreamtOf(home, cwd)
    expect(last).toMatchObject({ outcome: 'nothing', created: 0, turns: Object.keys(files).length })
    expect(snapshot(dir)).toEqual(before)
  })
})

it('a lock from the future, as a wrong clock left it, hides neither sessions nor logs', async () => {
  const { home } = await dreamModel(() => ({ content: [{ type: 'text', text: 'All is in order.' }] }))
  const { cwd, dir } = dreamGround(home, { files: { 'logs/2026/06/2026-06-30.md': '- said\n' }, index: '' })
  const lock = join(dir, LOCK_FILE)
  writeFileSync(lock, '')
  const at = Date.now() / 1_000 + 90 * 86_400
  utimesSync(lock, at, at)
  const { last } = await dreamtOf(home, cwd)
  expect(last).toMatchObject({ outcome: 'nothing', logs: 1 })
  // And is right afterwards.
  expect(lstatSync(lock).mtimeMs / 1_000).toBeLessThan(at - 86_400)
})
