/** Lines that are as long as a line may be, or longer, and a daemon that reads them in bounded memory. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { appendLong, type Long, peakMb, WORDS } from './long-lines.ts'
import { append, genericRoot, turn, turnEvents } from './transcripts.ts'

/**
 * A line that may be read is held as bytes, as text and once more when parsed, by the thread that reads it and again by the code that
 * searches; one that may not is never held.
 */
const MOST_MB = { read: 800, skipped: 175 }

type HostileLine = readonly [what: string, long: Long, kind: keyof typeof MOST_MB, skipped: Record<string, number>]

const nested = { before: '{"type":"user","text":', after: '' }
const listed = { before: '{"type":"user","text":[', after: '1]}' }
const call = `{"id":"c","name":"Bash","input":{"command":"${'echo '.repeat(400)}"}},`
const calls = { before: '{"type":"assistant","id":"long","toolCalls":[', piece: call, after: '{}]}' }

/** One of each way in which a line is taken: left out, kept, kept in many pieces, too deep and too many. */
export const hostileLines: readonly HostileLine[] = [
  ['65 MB', { ...WORDS, megabytes: 65 }, 'skipped', { 'too-long': 1 }],
  ['63 MB of words', { ...WORDS, megabytes: 63 }, 'read', {}],
  ['63 MB of commands', { ...calls, megabytes: 63 }, 'read', {}],
  ['63 MB of lists in lists', { ...nested, piece: '[', megabytes: 63 }, 'read', { broken: 1 }],
  ['63 MB of numbers', { ...listed, piece: '1,', megabytes: 63 }, 'read', { broken: 1 }],
]
export const moreHostileLines: readonly HostileLine[] = [
  ['63 MB of objects in objects', { ...nested, piece: '{"a":', megabytes: 63 }, 'read', { broken: 1 }],
  ['63 MB of empty objects', { ...listed, piece: '{},', megabytes: 63 }, 'read', { broken: 1 }],
]

export function hostileGround() {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const file = join(genericRoot(home), 's.jsonl')
  append(file, { type: 'session', id: 's', cwd }, ...turn('before'))
  return { home, cwd, file }
}

export async function takeBoundedMemory(...[what, long, kind, skipped]: HostileLine): Promise<void> {
  const { home, cwd, file } = hostileGround()
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
}
