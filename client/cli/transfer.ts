/** Memories and transcripts in bulk: the commands export, import and move. */
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { syncPath } from '../../daemon/platform/files.ts'
import type { Contract } from '../../schema/contract.ts'
import { exitCodes, MemoryError } from '../../schema/errors.ts'
import type { ImportProgress as Progress } from '../../schema/session.ts'
import type { ExportLine } from '../../schema/transfer.ts'
import type { StrictClient } from '../client.ts'
import { asUser, type Context, count, harmless } from './context.ts'
import type { Where } from './memories.ts'

/** A large set takes long: every word of it is searched for credentials. */
const PATIENCE_MS = 3_600_000

type Write = (bytes: Uint8Array) => Promise<void>
type End = ExportLine & { kind: 'end' }

export async function exportMemories(context: Context, { cwd, out }: Where & { out?: string }): Promise<void> {
  const fill = (write: Write) =>
    asUser(context, async (client) => {
      const end = await copyToEnd(client.exportMemories({ cwd }, { deadlineMs: PATIENCE_MS }), write)
      for (const { file, reason } of end.left) process.stderr.write(`left out ${JSON.stringify(file)}: ${reason}\n`)
      return end
    })
  if (out === undefined) return void (await fill(toStandardOutput))
  const { files, tombstones } = await writeWhole(resolve(out), fill)
  context.print.result({ out, files, tombstones }, () => [
    `wrote ${count(files, 'file')} and ${count(tombstones, 'rejection')} to ${out}`,
    `take it in elsewhere with: ${context.self} import --memories ${out}`,
  ])
}

/** An export without its last line, which counts the files, broke off. */
async function copyToEnd(pieces: AsyncIterable<Uint8Array>, write: Write): Promise<End> {
  let last = Buffer.alloc(0)
  for await (const piece of pieces) {
    await write(piece)
    const text = Buffer.concat([last, piece])
    last = text.subarray(text.lastIndexOf('\n', -2) + 1)
  }
  try {
    const end = JSON.parse(last.toString()) as End
    if (end.kind === 'end') return end
  } catch {
    // Half a line: it broke off.
  }
  throw new MemoryError('UNREACHABLE', 'the export broke off half way', { hint: 'run it again' })
}

const toStandardOutput: Write = (bytes) =>
  new Promise((done, failed) => {
    process.stdout.write(bytes, (error) => (error ? failed(error) : done()))
  })

/** Whole or not at all, readable by the user only. */
async function writeWhole<T>(path: string, fill: (write: Write) => Promise<T>): Promise<T> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  const file = await open(temporary, 'wx', 0o600).catch((cause) => {
    throw new MemoryError('BAD_REQUEST', `cannot write to ${dirname(path)}: ${cause.code ?? cause}`, {
      hint: 'name a file in a folder that is there and yours',
      cause,
    })
  })
  try {
    const done = await fill(async (bytes) => void (await file.writeFile(bytes)))
    await file.sync()
    await file.close()
    await rename(temporary, path)
    syncPath(dirname(path))
    return done
  } catch (error) {
    await file.close().catch(() => {})
    await rm(temporary, { force: true })
    throw error
  }
}

export async function importMemories(context: Context, file: string, cwd: string): Promise<void> {
  const lines = file === '-' ? process.stdin : bytesOf(file)
  const done = await asUser(context, (client) => client.importMemories({ cwd, lines }, { deadlineMs: PATIENCE_MS }))
  context.print.result(done, () => {
    const came = done.created.length + done.renamed.length
    return [
      `imported ${count(came, 'file')}; ${done.skipped.length} were there already`,
      ...(done.changes > 0 ? [`left out a history of ${count(done.changes, 'change')}`] : []),
      ...done.renamed.map(({ file, as }) => `${file} came as ${as}: what has its name says something else`),
      ...done.refused.map(({ file, reason }) => `${file} was refused: ${reason}`),
      ...(done.tombstones > 0 ? [`${count(done.tombstones, 'rejection')} came along`] : []),
      ...(done.runId ? [`take it back with: ${context.self} undo --run ${done.runId}`] : []),
    ]
  })
}

/** Opened when the first byte is asked for: an earlier error would be unhandled. */
async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file)
  } catch (cause) {
    throw new MemoryError('NOT_FOUND', `cannot read ${file}: ${(cause as Error).message}`, {
      hint: 'name a file that memoryd export wrote',
      cause,
    })
  }
}

export async function move(context: Context, from: string, to: string): Promise<void> {
  const ends = { from: resolve(from), to: resolve(to) }
  const done = await asUser(context, (client) => client.moveProject(ends, { deadlineMs: PATIENCE_MS }))
  context.print.result(done, () => [
    done.how === 'followed'
      ? `${done.dir} is the memory of ${done.root} now; no file had to move`
      : `${count(done.files.length, 'file')} of ${ends.from} followed to ${done.dir}`,
  ])
}

type Wanted = Contract['importTranscripts']['input']

export async function importTranscripts(context: Context, wanted: Wanted): Promise<void> {
  const line = progressLine(context)
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  process.once('SIGINT', leave)
  try {
    const following = asUser(context, (client) => followed(client, wanted, line.show, leaving.signal))
    const progress = await following.finally(line.end)
    context.print.result(progress, () => summary(progress))
  } catch (error) {
    if (!leaving.signal.aborted) throw error
    // The daemon reads on: it keeps its place, so stopping it would gain nothing.
    process.stderr.write('memoryd: it is read on without you; import it again to see how far it is\n')
    process.exitCode = exitCodes.ctrlC
  } finally {
    process.off('SIGINT', leave)
  }
}

type Show = (progress: Progress) => void

async function followed(client: StrictClient, wanted: Wanted, show: Show, signal: AbortSignal): Promise<Progress> {
  let jobId: string | undefined
  for await (const event of client.events({}, { signal })) {
    // Started by the first event, the one that opens the stream: not even the end of a short import is missed.
    jobId ??= (await client.importTranscripts(wanted)).jobId
    if (event.type !== 'job' || event.id !== jobId) continue
    if (event.state === 'done') return (await client.job({ id: jobId })).result as Progress
    if (event.error !== undefined || event.state === 'killed')
      throw new MemoryError('INTERNAL', `the import broke off: ${event.error ?? 'it was killed'}`, {
        hint: `see: memoryd jobs show ${jobId}`,
      })
    if (event.import) show(event.import)
  }
  throw new MemoryError('UNREACHABLE', 'the daemon stopped before everything was read', {
    hint: 'start it: memoryd start; it goes on by itself, and importing again shows how far it is',
  })
}

function progressLine({ print }: Context): { show: Show; end(): void } {
  const { stdout } = process
  let shown = false
  const write = (text: string) => stdout.write(`\r\u001b[2K${text}`)
  return {
    show: (progress) => {
      if (!stdout.isTTY || print.form === 'json') return
      shown = true
      write(harmless(bar(progress, stdout.columns || 80), 'off'))
    },
    end: () => {
      if (shown) write('')
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
