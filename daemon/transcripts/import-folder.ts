/**
 * Folders of transcripts that the user had read, wherever they are: which may be, and what is in them. Goes neither into our
 * own folder nor into private ones.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import { privateFolder } from '../projects/paths.ts'
import { pathHasSecret } from './clean.ts'
import { type Root, recognise, rootFor, type Source, sourceOf, type Unrecognised } from './formats/formats.ts'
import { walkNames } from './sweep.ts'

/** `harness`: all of it is of this one; else each file is looked at. */
export type Folder = { dir: string; harness: string | undefined }
export type Candidate = { path: string } | { left: 'link' }
export type ImportFolders = ReturnType<typeof createImportFolders>

/** Backups of whole homes are deep. */
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
    /** The path by which a folder is known, or a refusal. */
    accept: (named: string) => acceptedFolder(named, stateDir, settings.current().private),
    /** The last harness that was named for a folder counts. */
    add: ({ dir, harness }: Folder, at: number) => void add.run({ dir, harness: harness ?? null, at }),
    /** It is not looked through any more; what was read of it stays. */
    remove: (dir: string) => void remove.run(dir),
    list: (): Folder[] =>
      (list.all() as { dir: string; harness: string | null }[]).map(({ dir, harness }) => ({
        dir,
        harness: harness ?? undefined,
      })),
    files: async function* (dir: string): AsyncGenerator<Candidate[]> {
      const enters = (name: string) => `${dir}/${name}` !== own && !isPrivate(`${dir}/${name}`)
      const isWanted = (name: string) => name.endsWith('.jsonl')
      for await (const entries of walkNames(dir, '', { depth: DEPTH, isWanted, enters }))
        yield entries.map(({ name, kind }) => (kind === 'link' ? { left: 'link' } : { path: `${dir}/${name}` }))
    },
    /** Opens the file where only its lines tell which harness wrote it. */
    sourceAt: (path: string, { dir, harness }: Folder): Source | Unrecognised => {
      const known = sourceInRoots(settings.current().roots, path)
      if (known) return known
      const recognised = harness === undefined ? recognise(path) : { harness }
      if ('left' in recognised) return recognised
      return { harness: recognised.harness, root: rootFor(recognised.harness, path, dir), path }
    },
  }
}

/** Where harnesses are known to write. */
export function rootsIn(roots: Readonly<Record<string, readonly string[]>>): Root[] {
  return Object.entries(roots).flatMap(([harness, paths]) => paths.map((path) => ({ harness, path })))
}

/** With its links followed: the same folder by two names would be read twice. */
async function acceptedFolder(named: string, stateDir: string, privatePaths: readonly string[]): Promise<string> {
  const dir = followed(named)
  const isWithin = (folder: string) => dir === folder || dir.startsWith(`${folder}/`)
  if (dir === '/') throw refused('path', '/ is everything there is', 'name the folder that has the transcripts')
  if (isWithin(realpathSync(stateDir)))
    throw refused('path', `${named} is memoryd's own folder`, 'what is pushed is read from there by itself')
  const secret = privateFolder(privatePaths, [dir])
  if (secret !== undefined)
    throw refused('path', `${secret} is private`, 'take it out of `private` in the configuration first')
  if (await pathHasSecret(dir))
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

/** The same file by two names would be two files. */
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
