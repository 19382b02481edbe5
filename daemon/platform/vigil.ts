/**
 * Tells whether anything stirred at certain places since a moment, without looking at them again: the kernel says so.
 * Only Linux reports changes before whoever made them can ask about them; elsewhere there is no vigil, and callers look.
 */
import { existsSync, type FSWatcher, lstatSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Clock } from './clock.ts'

/** `folder`: everything directly in it. `path`: what stands there, or may come to stand there. */
export type Watched = { folder: string } | { path: string }

export type Vigil = {
  /** False once something stirred, or when nobody would know. */
  quiet(): boolean
  /**
   * The paths of what stirred since this was asked last: from now on it is quiet again. Nothing when nobody knows all of them;
   * then it is not quiet for good.
   */
  stirred(): string[] | undefined
  end(): void
}

export type Vigils = {
  /** Nothing where it cannot be kept. What is read before it begins may be outdated already. */
  keep(places: readonly Watched[], remembering?: { mostPaths: number }): Vigil | undefined
  /** Resolves when every change that was made until now has been taken note of. */
  settled(): Promise<void>
  stop(): void
}

/** `paths`: what stirred; nothing when that is not known. */
type Guard = { stirred: boolean; usedMs: number; paths: Set<string> | undefined; mostPaths: number }
type Folder = { watcher: FSWatcher; anything: Set<Guard>; named: Map<string, Set<Guard>> }

const MOST_FOLDERS = 512
/** A vigil that nobody asked about for this long ends with the next stir: a busy folder must not keep us awake. */
const UNUSED_MS = 10_000

type Deps = { clock: Pick<Clock, 'elapsed'>; platform?: NodeJS.Platform; watchFolder?: typeof watch }

export function createVigils({ clock, platform = process.platform, watchFolder = watch }: Deps): Vigils {
  const folders = new Map<string, Folder>()

  const open = (path: string): Folder | undefined => {
    const known = folders.get(path)
    if (known) return known
    if (folders.size >= MOST_FOLDERS) return undefined
    const watcher = attempt(() => watchFolder(path, { persistent: false }))
    if (!watcher) return undefined
    const folder: Folder = { watcher, anything: new Set(), named: new Map() }
    watcher.on('change', (_kind, name) => notice(folder, path, name === null ? undefined : String(name)))
    watcher.on('error', () => close(folder, path))
    folders.set(path, folder)
    return folder
  }

  const close = (folder: Folder, path: string): void => {
    for (const guard of guardsOf(folder)) stir(guard)
    folder.watcher.close()
    if (folders.get(path) === folder) folders.delete(path)
  }

  const notice = (folder: Folder, path: string, name: string | undefined) => {
    // The folder itself was moved or removed: under its name there may be another one by now.
    if (name === undefined || name === basename(path)) return close(folder, path)
    for (const guard of folder.anything) stir(guard, `${path}/${name}`)
    for (const guard of folder.named.get(name) ?? []) stir(guard, `${path}/${name}`)
    const idle = clock.elapsed() - UNUSED_MS
    const isOver = (guard: Guard) => guard.usedMs < idle || (guard.stirred && !guard.paths)
    if ([...guardsOf(folder)].every(isOver)) close(folder, path)
  }

  const leave = (path: string, guard: Guard): void => {
    const folder = folders.get(path)
    if (!folder) return
    folder.anything.delete(guard)
    for (const [name, guards] of folder.named) if (guards.delete(guard) && guards.size === 0) folder.named.delete(name)
    if (folder.anything.size === 0 && folder.named.size === 0) close(folder, path)
  }

  return {
    keep: (places, { mostPaths } = { mostPaths: 0 }) => {
      if (platform !== 'linux') return undefined
      const guard: Guard = { stirred: false, usedMs: clock.elapsed(), paths: new Set(), mostPaths }
      const joined: string[] = []
      const end = () => {
        stir(guard)
        for (const path of joined) leave(path, guard)
      }
      for (const place of places) {
        const spot = attempt(() => spotOf(place))
        const folder = spot && open(spot.folder)
        if (!folder) {
          end()
          return undefined
        }
        joined.push(spot.folder)
        if (spot.name === undefined) folder.anything.add(guard)
        else folder.named.set(spot.name, (folder.named.get(spot.name) ?? new Set()).add(guard))
      }
      return {
        quiet: () => {
          guard.usedMs = clock.elapsed()
          return !guard.stirred
        },
        stirred: () => {
          guard.usedMs = clock.elapsed()
          const paths = guard.paths && [...guard.paths]
          if (!paths) return undefined
          guard.paths?.clear()
          guard.stirred = false
          return paths
        },
        end,
      }
    },
    // What the kernel had to say when a request came in is handled in the same round as the request.
    settled: () => new Promise((resolve) => setImmediate(resolve)),
    stop: () => {
      for (const [path, folder] of folders) close(folder, path)
    },
  }
}

function stir(guard: Guard, path?: string): void {
  guard.stirred = true
  if (path !== undefined && guard.paths && guard.paths.size < guard.mostPaths) guard.paths.add(path)
  else guard.paths = undefined
}

function guardsOf({ anything, named }: Folder): Set<Guard> {
  return new Set([...anything, ...[...named.values()].flatMap((guards) => [...guards])])
}

/** What does not exist is waited for where its first missing folder would appear. A link could change at its other end. */
function spotOf(place: Watched): { folder: string; name: string | undefined } | undefined {
  if ('folder' in place && isPlain(place.folder)) return { folder: place.folder, name: undefined }
  let path = 'folder' in place ? place.folder : place.path
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
  while (!existsSync(dirname(path)) && dirname(path) !== path) path = dirname(path)
  return { folder: dirname(path), name: basename(path) }
}

function isPlain(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Out of watches, closed to us, gone just now: whatever the reason, there is no vigil then. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
