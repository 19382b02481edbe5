/**
 * Reads all transcripts in a folder because somebody asked for it, and tells how far it is. Keeps no place of its own: what
 * is read is known by the cursors of the files, so that whatever breaks it off, doing it again reads the rest.
 */
import { accessSync, constants, lstatSync, realpathSync, statSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { ImportProgress } from '../../schema/session.ts'
import type { Db } from '../db/database.ts'
import type { Due } from '../jobs/job-table.ts'
import type { Clock } from '../platform/clock.ts'
import { aborted } from '../platform/process.ts'
import { type Root, recognise, rootFor, type Source, sourceOf, type Unrecognised } from './formats/formats.ts'
import { type Progress, pathHasSecret, type Redact } from './ingest.ts'
import type { Outcome, Reading } from './reading.ts'
import { walkNames } from './sweep.ts'

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

/** Folders whose transcripts somebody had read. Kept where nothing can be derived from anything else. */

export type ImportedFolder = { dir: string; harness: string | undefined }

export type Imports = {
  /** What was said last about a folder counts. */
  add(folder: ImportedFolder, at: number): void
  /** It is not looked through any more; what was read of it stays. */
  remove(dir: string): void
  list(): ImportedFolder[]
}

export function createImports(db: Db): Imports {
  const add = db.prepare(
    `INSERT INTO imports (dir, harness, at) VALUES (@dir, @harness, @at)
     ON CONFLICT (dir) DO UPDATE SET harness = @harness, at = @at`,
  )
  const remove = db.prepare('DELETE FROM imports WHERE dir = ?')
  const list = db.prepare('SELECT dir, harness FROM imports ORDER BY dir')
  return {
    add: ({ dir, harness }, at) => void add.run({ dir, harness: harness ?? null, at }),
    remove: (dir) => void remove.run(dir),
    list: () =>
      (list.all() as { dir: string; harness: string | null }[]).map((row) => ({
        dir: row.dir,
        harness: row.harness ?? undefined,
      })),
  }
}

/** Whether a folder may be imported, and by which path it is known. Touches nothing. */

type ImportFolderDeps = { stateDir: string; privateBecause: (dir: string) => string | undefined; redact: Redact }

/** With its links followed: the same folder by two names would be read twice. */
export async function importFolder(
  named: string,
  { stateDir, privateBecause, redact }: ImportFolderDeps,
): Promise<string> {
  const dir = followed(named)
  const isWithin = (folder: string) => dir === folder || dir.startsWith(`${folder}/`)
  if (dir === '/') throw refused('path', '/ is everything there is', 'name the folder that has the transcripts')
  if (isWithin(realpathSync(stateDir)))
    throw refused('path', `${named} is memoryd's own folder`, 'what is pushed is read from there by itself')
  const secret = privateBecause(dir)
  if (secret !== undefined) throw refused('path', secret, 'take it out of `private` in the configuration first')
  if (await pathHasSecret(dir, redact))
    throw refused('secret', 'the path holds what looks like a credential', 'give the folder another name')
  try {
    accessSync(dir, constants.R_OK | constants.X_OK)
  } catch (cause) {
    throw refused(
      'permission',
      `${named} cannot be looked into`,
      `make it readable for you: chmod u+rx ${named}`,
      cause,
    )
  }
  return dir
}

function followed(named: string): string {
  try {
    if (statSync(named).isDirectory()) return realpathSync(named)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM')
      throw refused(
        'permission',
        `there is no way to ${named} for you`,
        'look at the permissions of the folders above',
        cause,
      )
    if (code === 'ENAMETOOLONG' || code === 'ELOOP')
      throw new MemoryError('BAD_REQUEST', `${named} cannot be a folder (${code})`, { cause })
    throw new MemoryError('NOT_FOUND', `there is no folder ${named}`, { hint: 'name a folder with transcripts', cause })
  }
  throw new MemoryError('BAD_REQUEST', `${named} is not a folder`, { hint: 'name the folder it is in' })
}

function refused(
  reason: 'path' | 'permission' | 'secret',
  message: string,
  hint: string,
  cause?: unknown,
): MemoryError {
  return new MemoryError('REFUSED', message, { reason, hint, cause })
}

/**
 * Transcripts that lie anywhere: in folders that somebody names, not where a harness keeps them. Says what each file is
 * and why one is left. Reads none of them, and goes neither into our own folder nor into private ones.
 */

/** `harness`: all of it is of this one; else each file is looked at. */
export type Folder = { dir: string; harness: string | undefined }

export type Candidate = { path: string } | { left: 'link' }

type AnywhereDeps = {
  /** Where harnesses keep theirs: what lies there is known by the name it has there. */
  roots: () => readonly Root[]
  stateDir: string
  isPrivate: (folder: string) => boolean
}

export type Anywhere = {
  files(dir: string): AsyncGenerator<Candidate[]>
  sourceAt(path: string, folder: Folder): Source | Unrecognised
}

/** Backups of whole homes are deep. */
const DEPTH = 16

export function createAnywhere({ roots, stateDir, isPrivate }: AnywhereDeps): Anywhere {
  const own = realpath(stateDir)
  return {
    files: async function* (dir) {
      const enters = (name: string) => `${dir}/${name}` !== own && !isPrivate(`${dir}/${name}`)
      const isWanted = (name: string) => name.endsWith('.jsonl')
      for await (const entries of walkNames(dir, '', { depth: DEPTH, isWanted, enters }))
        yield entries.map(({ name, kind }) => (kind === 'link' ? { left: 'link' } : { path: `${dir}/${name}` }))
    },
    sourceAt: (path, { dir, harness }) => {
      const known = keptBy(roots(), path)
      if (known) return known
      const recognised = harness === undefined ? recognise(path) : { harness }
      if ('left' in recognised) return recognised
      return { harness: recognised.harness, root: rootFor(recognised.harness, path, dir), path }
    },
  }
}

/** The same file by two names would be two files. */
function keptBy(roots: readonly Root[], path: string): Source | undefined {
  for (const root of roots)
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
