/** Folders of transcripts that the user imports, and the job that reads them. Enters no private folder and not our own. */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { ImportProgress } from '../../schema/session.ts'
import type { Core } from '../core.ts'
import type { Due, JobKind, RunContext } from '../jobs/job.ts'
import { aborted } from '../platform/process.ts'
import { privateFolder } from '../projects/paths.ts'
import { recognise, rootFor, rootsIn, type Source, sourceOf, type Unrecognised } from './formats/format.ts'
import { type Progress, pathHasSecret } from './ingest.ts'
import { type Outcome, type ReadQueue, type Sweep, walkNames } from './read-queue.ts'
import { lstat } from './tail.ts'

export type Folder = { dir: string; harness?: string | null | undefined }
export type ImportFolders = ReturnType<typeof createImportFolders>

const DEPTH = 16

export function createImportFolders({ stateDir, settings, db }: Core) {
  const add = db.history.prepare(
    `INSERT INTO imports (dir, harness, at) VALUES (@dir, @harness, @at)
     ON CONFLICT (dir) DO UPDATE SET harness = @harness, at = @at`,
  )
  const remove = db.history.prepare('DELETE FROM imports WHERE dir = ?')
  const list = db.history.prepare('SELECT dir, harness FROM imports ORDER BY dir')
  const own = realpath(stateDir)
  const isPrivate = (folder: string) => privateFolder(settings.current().private, [folder]) !== undefined
  return {
    accept: (named: string) => acceptedFolder(named, own, settings.current().private),
    add: ({ dir, harness }: Folder, at: number) => void add.run({ dir, harness: harness ?? null, at }),
    remove: (dir: string) => void remove.run(dir),
    list: () => list.all() as Folder[],
    files: async function* (dir: string): AsyncGenerator<{ path: string; isLink: boolean }> {
      const enters = (name: string) => `${dir}/${name}` !== own && !isPrivate(`${dir}/${name}`)
      const isWanted = (name: string) => name.endsWith('.jsonl')
      for await (const { name, isLink } of walkNames(dir, '', { depth: DEPTH, isWanted, enters }))
        yield { path: `${dir}/${name}`, isLink }
    },
    sourceAt: (path: string, { dir, harness }: Folder): Source | Unrecognised => {
      const known = sourceInRoots(settings.current().roots, path)
      if (known) return known
      const recognised = harness ? { harness } : recognise(path)
      return 'left' in recognised ? recognised : { ...recognised, root: rootFor(recognised.harness, path, dir), path }
    },
  }
}

/** Links are followed: the same folder by two names would be read twice. */
async function acceptedFolder(named: string, own: string, privatePaths: readonly string[]): Promise<string> {
  const dir = followed(named)
  const isWithin = (folder: string) => dir === folder || dir.startsWith(`${folder}/`)
  if (dir === '/') throw refused('path', '/ is everything there is', 'name the folder that has the transcripts')
  if (isWithin(own))
    throw refused('path', `${named} is memoryd's own folder`, 'what is pushed is read from there by itself')
  const secret = privateFolder(privatePaths, [dir])
  if (secret !== undefined)
    throw refused('path', `${secret} is private`, 'take it out of `private` in the configuration first')
  if (await pathHasSecret(dir))
    throw refused('secret', 'the path holds what looks like a credential', 'give the folder another name')
  try {
    accessSync(dir, constants.R_OK | constants.X_OK)
  } catch (cause) {
    const hint = `make it readable for you: chmod u+rx ${named}`
    throw refused('permission', `${named} cannot be looked into`, hint, cause)
  }
  return dir
}

function followed(named: string): string {
  try {
    if (statSync(named).isDirectory()) return realpathSync(named)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM') {
      const hint = 'look at the permissions of the folders above'
      throw refused('permission', `there is no way to ${named} for you`, hint, cause)
    }
    if (code === 'ENAMETOOLONG' || code === 'ELOOP')
      throw new MemoryError('BAD_REQUEST', `${named} cannot be a folder (${code})`, { cause })
    throw new MemoryError('NOT_FOUND', `there is no folder ${named}`, { hint: 'name a folder with transcripts', cause })
  }
  throw new MemoryError('BAD_REQUEST', `${named} is not a folder`, { hint: 'name the folder it is in' })
}

function refused(reason: 'path' | 'permission' | 'secret', message: string, hint: string, cause?: unknown) {
  return new MemoryError('REFUSED', message, { reason, hint, cause })
}

function sourceInRoots(roots: Readonly<Record<string, readonly string[]>>, path: string): Source | undefined {
  for (const root of rootsIn(roots))
    for (const base of [root.path, realpath(root.path)]) {
      const source = path.startsWith(`${base}/`) ? sourceOf(root, path.slice(base.length + 1)) : undefined
      if (source) return source
    }
  return undefined
}

function realpath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const REPORT_MS = 250
/** A run that is aborted waits for no more files than these. */
const AT_ONCE = 16

export function createImportJob({ clock }: Core, folders: ImportFolders, sweep: Sweep, queue: ReadQueue) {
  const readAll = async (folder: Folder, progress: ImportProgress, signal: AbortSignal): Promise<number> => {
    for await (const { path, isLink } of folders.files(folder.dir)) {
      signal.throwIfAborted()
      progress.files++
      if (!isLink) progress.bytes += sizeOf(path)
    }
    const sessions = new Set<string>()
    const ends = new Set<Promise<void>>()
    let lost = 0
    for await (const { path, isLink } of folders.files(folder.dir)) {
      signal.throwIfAborted()
      const sizeBytes = isLink ? 0 : sizeOf(path)
      if (!isLink && sweep.isRead(path)) {
        progress.known++
        finish(progress, sizeBytes)
        continue
      }
      const source = isLink ? { left: 'link' } : folders.sourceAt(path, folder)
      // Recognising a file blocks: other work first.
      await immediate()
      if ('left' in source) {
        count(progress.left, source.left, 1)
        finish(progress, sizeBytes)
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
    // What an aborted run leaves is found again after the next start.
    await Promise.race([Promise.all([...ends]), aborted(signal)])
    signal.throwIfAborted()
    return lost
  }

  const run = async (folder: Folder, { signal, progress: report }: Pick<RunContext, 'signal' | 'progress'>) => {
    const counts = { files: 0, bytes: 0, doneFiles: 0, doneBytes: 0, read: 0, known: 0, sessions: 0, turns: 0 }
    const progress: ImportProgress = { dir: folder.dir, ...counts, left: {}, skipped: {} }
    const tell = () => report(`${progress.doneFiles} of ${progress.files} files`, { import: structuredClone(progress) })
    const telling = clock.every(REPORT_MS, tell, () => {})
    try {
      const lost = await readAll(folder, progress, signal)
      if (lost > 0) return { failed: `${lost} files could not be read to their end` }
      // Only now: a sweep would read the same files meanwhile, and they would be counted as known.
      folders.add(folder, clock.now())
      return { done: progress }
    } finally {
      telling.stop()
    }
  }

  return {
    due: async (named: string, harness: string | undefined): Promise<Due> => {
      const folder: Folder = { dir: await folders.accept(named), harness }
      return { kind: 'import', key: folder.dir, watermark: new Date(clock.now()).toISOString(), input: folder }
    },
    kind: {
      name: 'import',
      model: 'never',
      resumes: true,
      run: ({ input }, context) => run(input as Folder, context),
      killed: ({ input }) => folders.remove((input as Folder).dir),
    } satisfies JobKind,
  }
}

function finish(progress: ImportProgress, bytes: number): void {
  progress.doneFiles++
  progress.doneBytes += bytes
}

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
