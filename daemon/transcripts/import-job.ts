/**
 * The job that reads all transcripts in a folder because the user asked for it. What is read is known by the cursors of the
 * files: whatever breaks a run off, the next one reads the rest.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import type { ImportProgress } from '../../schema/session.ts'
import type { Core } from '../core.ts'
import type { JobKind, RunContext } from '../jobs/job.ts'
import type { Due } from '../jobs/job-table.ts'
import { aborted } from '../platform/process.ts'
import type { Folder, ImportFolders } from './import-folder.ts'
import type { Progress } from './ingest.ts'
import { lstat, type Outcome, type ReadQueue } from './read-queue.ts'
import type { Sweep } from './sweep.ts'

const REPORT_MS = 250
/** Files that are due at a time: a run that is broken off waits for no more. */
const AT_ONCE = 16

export function createImportJob({ clock }: Core, folders: ImportFolders, sweep: Sweep, queue: ReadQueue) {
  /** Gives how many could not be read to their end. */
  const readAll = async (folder: Folder, progress: ImportProgress, signal: AbortSignal): Promise<number> => {
    for await (const candidates of folders.files(folder.dir)) {
      signal.throwIfAborted()
      for (const candidate of candidates) {
        progress.files++
        if ('path' in candidate) progress.bytes += sizeOf(candidate.path)
      }
    }
    const sessions = new Set<string>()
    const ends = new Set<Promise<void>>()
    let lost = 0
    for await (const candidates of folders.files(folder.dir))
      for (const candidate of candidates) {
        signal.throwIfAborted()
        if ('left' in candidate) {
          leave(progress, candidate.left, 0)
          continue
        }
        const { path } = candidate
        const sizeBytes = sizeOf(path)
        if (sweep.isRead(path)) {
          progress.known++
          finish(progress, sizeBytes)
          continue
        }
        const source = folders.sourceAt(path, folder)
        // To look into a file takes time: other work first.
        await immediate()
        if ('left' in source) {
          leave(progress, source.left, sizeBytes)
          continue
        }
        const account = accountOf(progress, sessions, sizeBytes)
        if (ends.size >= AT_ONCE) await Promise.race([...ends, aborted(signal)])
        signal.throwIfAborted()
        const end = queue.read(source, 'backlog', sizeBytes, account.add).then((outcome) => {
          if (outcome === 'lost' || outcome === 'failed') lost++
          account.end(outcome)
          ends.delete(end)
        })
        ends.add(end)
      }
    // What is still due is found again after the next start.
    await Promise.race([Promise.all([...ends]), aborted(signal)])
    signal.throwIfAborted()
    return lost
  }

  const run = async (folder: Folder, { signal, progress: report }: Pick<RunContext, 'signal' | 'progress'>) => {
    const progress = nothingYet(folder.dir)
    const tell = () => report(`${progress.doneFiles} of ${progress.files} files`, { import: copyOf(progress) })
    const telling = clock.every(REPORT_MS, tell, () => {})
    try {
      const lost = await readAll(folder, progress, signal)
      if (lost > 0) return { retry: `${lost} files could not be read to their end` }
      // Only now: a sweep would read along, and what is counted here would be counted as known.
      folders.add(folder, clock.now())
      return { done: progress }
    } finally {
      telling.stop()
    }
  }

  return {
    /** The job for a folder that the user names. Once it is read, sweeps look through it. */
    due: async (named: string, harness: string | undefined): Promise<Due> => {
      const folder: Folder = { dir: await folders.accept(named), harness }
      return { kind: 'import', key: folder.dir, watermark: new Date(clock.now()).toISOString(), input: folder }
    },
    kind: {
      name: 'import',
      model: false,
      resumes: true,
      run: ({ input }, context) => run(input as Folder, context),
      killed: ({ input }) => folders.remove((input as Folder).dir),
    } satisfies JobKind,
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
  return lstat(path)?.size ?? 0
}
