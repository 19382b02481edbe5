import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { appendLong, type Long, peakMb, WORDS } from '../support/long-lines.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

/**
 * A line that may be read is held as bytes, as text and once more when parsed, by the thread that reads it and again by the code that
 * searches; one that may not is never held.
 */
const MOST_MB = { read: 800, skipped: 175 }

const nested = { before: '{"type":"user","text":', after: '' }
const listed = { before: '{"type":"user","text":[', after: '1]}' }
const call = `{"id":"c","name":"Bash","input":{"command":"${'echo '.repeat(400)}"}},`

const lines: [string, Long, keyof typeof MOST_MB, Record<string, number>][] = [
  ['65 MB', { ...WORDS, megabytes: 65 }, 'skipped', { 'too-long': 1 }],
  ['63 MB of words', { ...WORDS, megabytes: 63 }, 'read', {}],
  [
    '63 MB of commands',
    { before: '{"type":"assistant","id":"long","toolCalls":[', piece: call, after: '{}]}', megabytes: 63 },
    'read',
    {},
  ],
  ['63 MB of lists in lists', { ...nested, piece: '[', megabytes: 63 }, 'read', { broken: 1 }],
  ['63 MB of objects in objects', { ...nested, piece: '{"a":', megabytes: 63 }, 'read', { broken: 1 }],
  ['63 MB of empty objects', { ...listed, piece: '{},', megabytes: 63 }, 'read', { broken: 1 }],
  ['63 MB of numbers', { ...listed, piece: '1,', megabytes: 63 }, 'read', { broken: 1 }],
]

function rig() {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const file = join(genericRoot(home), 's.jsonl')
  append(file, { type: 'session', id: 's', cwd }, ...turn('before'))
  return { home, cwd, file }
}

describe.runIf(process.platform === 'linux')('a line of', () => {
  it.each(lines)('%s takes bounded memory, and the next is read', async (what, long, kind, skipped) => {
    const { home, cwd, file } = rig()
    appendLong(file, long)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    append(file, ...turn('after'))
    await turns.take(1)
    const { turnList } = await daemon.client.session({ id: 's' })
    expect(turnList.at(-1)).toMatchObject({ prompt: 'after?', end: 'final' })
    await daemon.client.search({ cwd, q: 'words' })
    const { ingest, errors } = await daemon.client.status()
    expect({ ingest, errors }).toEqual({ ingest: { lagBytes: 0, skipped }, errors: [] })
    console.info(`a line of ${what}: ${peakMb(daemon.pid)} MB at most`)
    expect(peakMb(daemon.pid)).toBeLessThan(MOST_MB[kind])
    await daemon.stop()
  })
})

it('counts the lines it cannot use by why, reads those between, and breaks none at U+2028', async () => {
  const { home, cwd, file } = rig()
  const between = (n: number) => `${JSON.stringify({ type: 'user', id: `b${n}`, text: `between ${n}` })}\n`
  const user = (words: string) => `{"type":"user","text":"${words}"}\n`
  appendFileSync(file, Buffer.concat([Buffer.from(user('f')), Buffer.from([0xfc, 0x72, 0x0a])]))
  appendFileSync(file, between(1))
  appendFileSync(file, user('a\0b'))
  appendFileSync(file, between(2))
  appendFileSync(file, '{"type":"user","text":\n')
  appendFileSync(file, user('up\u2028down'))
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  append(file, ...turn('after'))
  await turns.take(1)
  const { ingest } = await daemon.client.status()
  expect(ingest).toEqual({ lagBytes: 0, skipped: { broken: 1, 'not-utf8': 1, nul: 1 } })
  const { turnList } = await daemon.client.session({ id: 's' })
  expect(turnList.map(({ prompt }) => prompt)).toEqual([
    'before?',
    'f',
    'between 1',
    'between 2',
    'up\u2028down',
    'after?',
  ])
  expect((await daemon.client.search({ cwd, q: 'down' })).items).toMatchObject([{ role: 'person' }])
  await daemon.stop()
})
