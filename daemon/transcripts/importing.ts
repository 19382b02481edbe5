/**
 * Reads all transcripts in a folder because somebody asked for it, and tells how far it is. Keeps no place of its own: what
 * is read is known by the cursors of the files, so that whatever breaks it off, doing it again reads the rest.
 */
import { randomUUID } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { ImportProgress } from '../../schema/import.ts'
import type { Clock } from '../platform/clock.ts'
import { aborted } from '../platform/signals.ts'
import type { Imports } from '../store/imports.ts'
import type { Anywhere, Folder } from './anywhere.ts'
import type { Progress } from './ingest.ts'
import type { Outcome, Reading } from './reading.ts'

export type ImportNews = {
  jobId: string
  kind: 'import'
  state: 'running' | 'done' | 'failed'
  progress: ImportProgress
  error?: string
}

type Deps = {
  anywhere: Anywhere
  reading: Pick<Reading, 'isRead' | 'read'>
  imports: Pick<Imports, 'add'>
  /** The folder as it is known, or a refusal. */
  folderOf: (dir: string) => Promise<string>
  clock: Clock
  onNews: (news: ImportNews) => void
}

export type Importing = {
  /** Goes on by itself; asked for a folder that is being read, it gives the one that is at it. */
  begin(dir: string, harness: string | undefined): Promise<{ jobId: string }>
  /** Waits for nothing: whatever is under way stops at its next step. */
  stop(): void
}

const TELL_MS = 250

type Import = { jobId: string; folder: Folder; progress: ImportProgress; sessions: Set<string> }

export function createImporting({ anywhere, reading, imports, folderOf, clock, onNews }: Deps): Importing {
  const stopping = new AbortController()
  const running = new Map<string, { jobId: string; over: Promise<void> }>()

  const run = async ({ folder, progress, sessions }: Import) => {
    for await (const candidates of anywhere.files(folder.dir)) {
      stopping.signal.throwIfAborted()
      for (const candidate of candidates) {
        progress.files++
        if ('path' in candidate) progress.bytes += sizeOf(candidate.path)
      }
    }
    const ends: Promise<void>[] = []
    const lost: Outcome[] = []
    for await (const candidates of anywhere.files(folder.dir))
      for (const candidate of candidates) {
        stopping.signal.throwIfAborted()
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
        const { over } = await reading.read(source, sizeBytes, account.add)
        stopping.signal.throwIfAborted()
        ends.push(
          over.then((outcome) => {
            if (outcome === 'lost' || outcome === 'failed') lost.push(outcome)
            account.end(outcome)
          }),
        )
      }
    // What is still due is found again after the next start.
    await Promise.race([Promise.all(ends), aborted(stopping.signal)])
    stopping.signal.throwIfAborted()
    if (lost.length > 0) throw new Error(`${lost.length} files could not be read to their end; import it again`)
  }

  const tell = ({ jobId, progress }: Import, state: ImportNews['state'], error?: unknown) =>
    onNews({
      jobId,
      kind: 'import',
      state,
      progress: { ...progress, left: { ...progress.left }, skipped: { ...progress.skipped } },
      ...(error !== undefined && { error: (error as Error).message }),
    })

  const start = async (job: Import) => {
    const telling = clock.every(
      TELL_MS,
      () => tell(job, 'running'),
      () => {},
    )
    // Whoever began it has its name before the first news.
    await turn()
    try {
      await run(job)
      tell(job, 'done')
    } catch (error) {
      if (stopping.signal.aborted) return
      tell(job, 'failed', error)
    } finally {
      telling.stop()
    }
  }

  return {
    begin: async (named, harness) => {
      const dir = await folderOf(named)
      const known = running.get(dir)
      if (known) return { jobId: known.jobId }
      const jobId = `import-${randomUUID()}`
      const folder = { dir, harness }
      imports.add(folder, clock.now())
      const over = start({ jobId, folder, progress: nothingYet(dir), sessions: new Set() }).finally(() =>
        running.delete(dir),
      )
      running.set(dir, { jobId, over })
      return { jobId }
    },
    stop: () => stopping.abort(),
  }
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
