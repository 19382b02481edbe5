/** Hands out the memories and rejections of a project as one file, as they were at one moment, a piece at a time. */
import { existsSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import { message } from '../platform/files.ts'
import type { Content } from '../platform/safe-folder.ts'
import type { Projects } from '../projects/projects.ts'
import { createLinePrinter } from './export-file.ts'
import type { ExternalEdits } from './external-edits.ts'
import { readMemoryFile } from './folder.ts'
import { isExact, type Journal } from './journal.ts'
import { listMemories } from './scan.ts'
import type { Tombstones } from './tombstones.ts'

/** Lines are short and pieces cost the same whatever their size. */
const PIECE_CHARS = 65_536
/** Of a file, when its content at the start of the export is looked for. */
const MOST_CHANGES = 100

export function createExport(
  { clock, logged }: Core,
  projects: Projects,
  journal: Journal,
  tombstones: Tombstones,
  external: ExternalEdits,
) {
  const mayBeAt = projects.isMemoryDir
  const readable = (dir: string, file: string): Content | string => {
    try {
      const content = existsSync(dir) ? readMemoryFile(dir, file, { mayBeAt }) : undefined
      return content ?? 'cannot be found under its name'
    } catch (error) {
      return message(error)
    }
  }

  /** Synchronous, so that no write of the daemon falls into it. */
  const snapshot = (root: string, dir: string) => {
    const { files, closed } = listMemories(dir, mayBeAt)
    const seen = files.map((file) => ({ file, content: readable(dir, file) }))
    return {
      root,
      dir,
      at: clock.now(),
      files: seen.flatMap(({ file, content }) => (typeof content === 'string' ? [] : [{ file, hash: content.hash }])),
      left: [
        ...seen.flatMap(({ file, content }) => (typeof content === 'string' ? [{ file, reason: content }] : [])),
        ...closed.map((file) => ({ file, reason: 'is no plain file, or a folder that is closed to memoryd' })),
      ],
      tombstones: tombstones.withValues(dir),
    }
  }

  /** As it was in the snapshot: from the disk, or from the journal if it has changed since. */
  const bytesOf = (dir: string, file: string, hash: string): Buffer => {
    const now = readable(dir, file)
    if (typeof now !== 'string' && now.hash === hash) return now.bytes
    const versions = journal.list({ dir, file, limit: MOST_CHANGES }).flatMap(({ before, after }) => [before, after])
    const then = versions.find((version) => version?.hash === hash && isExact(version))
    if (then?.text !== undefined) return Buffer.from(then.text)
    throw new MemoryError('CONFLICT', `${file} was changed while it was being exported`, { hint: 'export again' })
  }

  function* lines({ root, dir, at, files, left, tombstones }: ReturnType<typeof snapshot>): Generator<string> {
    const print = createLinePrinter()
    yield print.header(at, root)
    for (const { file, hash } of files) yield print.file(file, bytesOf(dir, file, hash))
    for (const tombstone of tombstones) yield print.tombstone(tombstone)
    yield print.end(left)
  }

  return {
    /** Throws a refusal before the first piece. */
    start: async (cwd: string, caller: Caller): Promise<AsyncIterable<string>> => {
      const { root, dir, off } = projects.find(cwd, caller)
      if (off === undefined) await external.look(dir).catch(logged('a memory directory could not be looked through'))
      return pieces(lines(snapshot(root, dir)))
    },
  }
}

async function* pieces(lines: Iterable<string>): AsyncGenerator<string> {
  let piece = ''
  for (const line of lines) {
    piece += line
    if (piece.length < PIECE_CHARS) continue
    yield piece
    piece = ''
  }
  yield piece
}
