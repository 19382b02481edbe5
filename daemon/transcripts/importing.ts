/**
 * Reads all transcripts in a folder because somebody asked for it, and tells how far it is. Keeps no place of its own: what
 * is read is known by the cursors of the files, so that whatever breaks it off, doing it again reads the rest.
 */
import { lstatSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { ImportProgress } from '../../schema/import.ts'
import type { Due } from '../jobs/job-rows.ts'
import type { Clock } from '../platform/clock.ts'
import { aborted } from '../platform/signals.ts'
import type { Anywhere, Folder } from './anywhere.ts'
import type { Imports } from './import-table.ts'
import type { Progress } from './ingest.ts'
import type { Outcome, Reading } from './reading.ts'

type Deps = {
  anywhere: Anywhere
  reading: Pick<Reading, 'isRead' | 'read'>
  imports: Pick<Imports, 'add' | 'remove'>
  /** The folder as it is known, or a refusal. */
  folderOf: (dir: string) => Promise<string>
  clock: Clock
}

/** How a run ended, and what it is told. */
type Ended = { done: ImportProgress } | { retry: string }
type Running = { signal: AbortSignal; progress(text: string, more: { import: ImportProgress }): void }

export type Importing = {
  /** What is due when somebody wants a folder to be read. Once it was, it is one of those that sweeps look through. */
  due(dir: string, harness: string | undefined): Promise<Due>
  run(input: Folder, at: Running): Promise<Ended>
  /** Somebody does not want it after all. */
  giveUp(input: Folder): void
}

const TELL_MS = 250
/** Files that are handed over to be read: whoever breaks it off does not wait for more. */
const AT_ONCE = 16

type Import = { folder: Folder; progress: ImportProgress; sessions: Set<string>; signal: AbortSignal }

export function createImporting({ anywhere, reading, imports, folderOf, clock }: Deps): Importing {
  const readAll = async ({ folder, progress, sessions, signal }: Import) => {
    for await (const candidates of anywhere.files(folder.dir)) {
      signal.throwIfAborted()
      for (const candidate of candidates) {
        progress.files++
        if ('path' in candidate) progress.bytes += sizeOf(candidate.path)
      }
    }
    const ends = new Set<Promise<void>>()
    const lost: Outcome[] = []
    for await (const candidates of anywhere.files(folder.dir))
      for (const candidate of candidates) {
        signal.throwIfAborted()
        if ('left' in candidate) {
          leave(progress, candidate.left, 0)
          continue
        }
        const { path } = candidate
        const sizeBytes = sizeOf(path)
        if (reading.isRead(path)) {
          progress.known++
          finish(progress, sizeBytes)
          continue
        }
        const source = anywhere.sourceAt(path, folder)
        // Looking into a file took its time: others first.
        await turn()
        if ('left' in source) {
          leave(progress, source.left, sizeBytes)
          continue
        }
        const account = accountOf(progress, sessions, sizeBytes)
        if (ends.size >= AT_ONCE) await Promise.race([...ends, aborted(signal)])
        signal.throwIfAborted()
        const { over } = await reading.read(source, sizeBytes, account.add)
        signal.throwIfAborted()
        const end = over.then((outcome) => {
          if (outcome === 'lost' || outcome === 'failed') lost.push(outcome)
          account.end(outcome)
          ends.delete(end)
        })
        ends.add(end)
      }
    // What is still due is found again after the next start.
    await Promise.race([Promise.all([...ends]), aborted(signal)])
    signal.throwIfAborted()
    return lost.length
  }

  return {
    due: async (named, harness) => {
      const folder: Folder = { dir: await folderOf(named), harness }
      return { kind: 'import', key: folder.dir, watermark: new Date(clock.now()).toISOString(), input: folder }
    },
    giveUp: ({ dir }) => imports.remove(dir),
    run: async (folder, { signal, progress: say }) => {
      const progress = nothingYet(folder.dir)
      const tell = () => say(`${progress.doneFiles} of ${progress.files} files`, { import: copyOf(progress) })
      const telling = clock.every(TELL_MS, tell, () => {})
      try {
        const lost = await readAll({ folder, progress, sessions: new Set(), signal })
        if (lost > 0) return { retry: `${lost} files could not be read to their end` }
        // Only now: a sweep would read along, and count as its own what is counted here.
        imports.add(folder, clock.now())
        return { done: progress }
      } finally {
        telling.stop()
      }
    },
  }
}

function copyOf(progress: ImportProgress): ImportProgress {
  return { ...progress, left: { ...progress.left }, skipped: { ...progress.skipped } }
}

function nothingYet(dir: string): ImportProgress {
  const none = { files: 0, bytes: 0, doneFiles: 0, doneBytes: 0, read: 0, known: 0, sessions: 0, turns: 0 }
  return { dir, ...none, left: {}, skipped: {} }
}

function finish(progress: ImportProgress, bytes: number): void {
  progress.doneFiles++
  progress.doneBytes += bytes
}

function leave(progress: ImportProgress, why: string, bytes: number): void {
  count(progress.left, why, 1)
  finish(progress, bytes)
}

/** Puts what is heard of one file to what is known of all. */
function accountOf(progress: ImportProgress, sessions: Set<string>, sizeBytes: number) {
  let doneBytes = 0
  let lines = 0
  return {
    add: (heard: Progress) => {
      if (!('lines' in heard)) return
      const { told, unreadBytes } = heard
      lines += heard.lines
      const now = Math.min(sizeBytes, Math.max(doneBytes, sizeBytes - unreadBytes))
      progress.doneBytes += now - doneBytes
      doneBytes = now
      for (const session of told?.sessions ?? []) sessions.add(session)
      progress.sessions = sessions.size
      progress.turns += told?.turns ?? 0
      for (const [why, number] of Object.entries(told?.skipped ?? {})) {
        count(progress.skipped, why, number)
        lines += number
      }
    },
    end: (outcome: Outcome) => {
      if (outcome === 'read' && lines > 0) progress.read++
      else if (outcome === 'read') progress.known++
      else count(progress.left, outcome, 1)
      finish(progress, sizeBytes - doneBytes)
    },
  }
}

function count(counts: Record<string, number>, why: string, more: number): void {
  counts[why] = (counts[why] ?? 0) + more
}

function sizeOf(path: string): number {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
  } catch {
    return 0
  }
}
