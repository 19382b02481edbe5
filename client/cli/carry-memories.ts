/** `memoryd export`, `import --memories` and `move`: a whole memory set out, in, and after a moved project. */
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Context } from './context.ts'
import { count } from './numbers.ts'
import { asPerson } from './person.ts'
import type { Where } from './read-memories.ts'

/** A journal of years is read through, and every word of it looked at for credentials. */
const PATIENCE_MS = 3_600_000

type Write = (bytes: Uint8Array) => Promise<void>
type End = { files: number; changes: number; tombstones: number; left: { file: string; reason: string }[] }

export async function exportMemories(context: Context, { cwd, out }: Where & { out?: string }): Promise<void> {
  const fill = (write: Write) =>
    asPerson(context, async (client) => {
      const end = await copyToEnd(client.exportMemories({ cwd }, { deadlineMs: PATIENCE_MS }), write)
      for (const { file, reason } of end.left) process.stderr.write(`left out ${JSON.stringify(file)}: ${reason}\n`)
      return end
    })
  if (out === undefined) return void (await fill(toStandardOutput))
  const { files, changes, tombstones } = await writeWhole(resolve(out), fill)
  context.print.result({ out, files, changes, tombstones }, () => [
    `wrote ${count(files, 'file')} and ${count(changes, 'change')} to ${out}`,
    `take it in elsewhere with: ${context.self} import --memories ${out}`,
  ])
}

/** The last line says what there was; without it the export broke off, however the connection ended. */
async function copyToEnd(pieces: AsyncIterable<Uint8Array>, write: Write): Promise<End> {
  let last = Buffer.alloc(0)
  for await (const piece of pieces) {
    await write(piece)
    const text = Buffer.concat([last, piece])
    last = text.subarray(text.lastIndexOf('\n', -2) + 1)
  }
  const end = parsed(last.toString())
  if (end?.kind === 'end') return end
  throw new MemoryError('UNREACHABLE', 'the export broke off half way', { hint: 'run it again' })
}

function parsed(line: string): (End & { kind?: string }) | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const toStandardOutput: Write = (bytes) =>
  new Promise((done, failed) => {
    process.stdout.write(bytes, (error) => (error ? failed(error) : done()))
  })

/** Whole or not at all, and for nobody else to read. */
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
    const folder = await open(dirname(path))
    await folder.sync().finally(() => folder.close())
    return done
  } catch (error) {
    await file.close().catch(() => {})
    await rm(temporary, { force: true })
    throw error
  }
}

export async function importMemories(context: Context, { cwd, memories }: Where & { memories: string }): Promise<void> {
  const lines = memories === '-' ? process.stdin : bytesOf(memories)
  const done = await asPerson(context, (client) => client.importMemories({ cwd, lines }, { deadlineMs: PATIENCE_MS }))
  context.print.result(done, () => {
    const came = done.created.length + done.renamed.length
    return [
      `imported ${count(came, 'file')} and ${count(done.changes, 'change')}; ${done.skipped.length} were there already`,
      ...done.renamed.map(({ file, as }) => `${file} came as ${as}: what has its name says something else`),
      ...done.refused.map(({ file, reason }) => `${file} was refused: ${reason}`),
      ...(done.tombstones > 0 ? [`${count(done.tombstones, 'rejection')} came along`] : []),
      ...(done.runId ? [`take it back with: ${context.self} undo --run ${done.runId}`] : []),
    ]
  })
}

/** Opened when somebody asks for the first byte: an error before that would find nobody to tell. */
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
  const done = await asPerson(context, (client) => client.moveProject(ends, { deadlineMs: PATIENCE_MS }))
  context.print.result(done, () => [
    done.how === 'followed'
      ? `${done.dir} is the memory of ${done.root} now; no file had to move`
      : `${count(done.files.length, 'file')} of ${ends.from} followed to ${done.dir}`,
    ...(done.skipped.length > 0 ? [`${done.skipped.length} were there already`] : []),
    ...done.renamed.map(({ file, as }) => `${file} came as ${as}: what has its name says something else`),
    ...done.stayed.map(({ file, reason }) => `${file} stayed where it was: ${reason}`),
  ])
}
