/** `memoryd import <folder>`: has a folder of transcripts read, and shows how far it is on a terminal. */
import type { Contract } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { ImportProgress as Progress } from '../../schema/session.ts'
import type { StrictClient } from '../client.ts'
import { type Context, harmless } from './context.ts'
import { count } from './numbers.ts'
import { asPerson } from './person.ts'

/** As a shell has it for what Ctrl-C ended. */
const INTERRUPTED = 130

type Wanted = Contract['importTranscripts']['input']

export async function importTranscripts(context: Context, wanted: Wanted): Promise<void> {
  const line = lineOn(process.stdout, context)
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  process.once('SIGINT', leave)
  try {
    const progress = await asPerson(context, (client) => followed(client, wanted, line.show, leaving.signal))
    line.end()
    context.print.result(progress, () => summary(progress))
  } catch (error) {
    if (!leaving.signal.aborted) throw error
    // The daemon reads on: nothing would be gained by stopping it, and its place is kept anyway.
    line.end()
    process.stderr.write('memoryd: it is read on without you; import it again to see how far it is\n')
    process.exitCode = INTERRUPTED
  } finally {
    line.end()
    process.off('SIGINT', leave)
  }
}

/** Listens before it asks, so that not even the end of a short one is missed. */
async function followed(
  client: StrictClient,
  wanted: Wanted,
  show: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Progress> {
  const events = client.events({}, { signal })[Symbol.asyncIterator]()
  try {
    await events.next()
    const { jobId } = await client.importTranscripts(wanted)
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const event = next.value
      if (event.type !== 'job' || event.id !== jobId) continue
      if (event.state === 'done') return (await client.job({ id: jobId })).result as Progress
      if (event.error !== undefined || event.state === 'killed')
        throw new MemoryError('INTERNAL', `the import broke off: ${event.error ?? 'it was killed'}`, {
          hint: `see: memoryd jobs show ${jobId}`,
        })
      if (event.import) show(event.import)
    }
  } finally {
    await events.return?.()
  }
  throw new MemoryError('UNREACHABLE', 'the daemon stopped before everything was read', {
    hint: 'start it: memoryd start; it goes on by itself, and importing again shows how far it is',
  })
}

type Terminal = { isTTY?: boolean; columns?: number; write(text: string): unknown }

/** One line that is written over and over; nothing where nobody looks. */
function lineOn(terminal: Terminal, { print }: Context): { show(progress: Progress): void; end(): void } {
  let shown = false
  const write = (text: string) => terminal.write(`\r\u001b[2K${text}`)
  return {
    show: (progress) => {
      if (!terminal.isTTY || print.form === 'json') return
      shown = true
      write(harmless(bar(progress, terminal.columns || 80), 'off'))
    },
    end: () => {
      if (shown) write('')
      shown = false
    },
  }
}

export function bar({ files, bytes, doneFiles, doneBytes }: Progress, columns: number): string {
  const done = bytes > 0 ? Math.min(1, doneBytes / bytes) : files > 0 ? doneFiles / files : 0
  const words = ` ${Math.floor(done * 100)}%  ${doneFiles} of ${files} files, ${size(doneBytes)} of ${size(bytes)}`
  const width = Math.min(40, columns - words.length - 3)
  if (width < 5) return words.trim().slice(0, Math.max(0, columns - 1))
  const full = Math.round(done * width)
  return `[${'#'.repeat(full)}${'.'.repeat(width - full)}]${words}`
}

export function summary({ files, read, known, left, sessions, turns, skipped }: Progress): string[] {
  if (files === 0) return ['there are no transcripts in it: no file ends in .jsonl']
  return [
    `read ${count(read, 'file')}: ${count(sessions, 'session')}, ${count(turns, 'turn')}`,
    ...(known > 0 ? [`${count(known, 'file')} had been read before`] : []),
    ...sorted(left).map(([why, number]) => `left ${count(number, 'file')}: ${LEFT[why] ?? why}`),
    ...sorted(skipped).map(([why, number]) => `skipped ${count(number, 'line')}: ${SKIPPED[why] ?? why}`),
  ]
}

const LEFT: Record<string, string> = {
  empty: 'empty',
  link: 'links are not followed',
  unrecognised: 'not a transcript, as far as one can tell',
  unreadable: 'could not be read',
  gone: 'deleted meanwhile',
}
const SKIPPED: Record<string, string> = {
  broken: 'not JSON',
  unknown: 'of a kind that is not known',
  nul: 'with NUL bytes in it',
  'not-utf8': 'not UTF-8',
  'too-long': 'longer than 64 MB',
}

function sorted(counts: Record<string, number>): [string, number][] {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))
}

function size(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} kB`
  return bytes < 1_000_000_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${(bytes / 1_000_000_000).toFixed(2)} GB`
}
