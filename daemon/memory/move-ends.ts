/** Where a moved project was and is, and whether its memories may be taken from there. Moves nothing. */
import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Directories } from './directories.ts'
import type { Journal } from './journal.ts'
import type { Ends } from './moves.ts'
import type { Places } from './place.ts'

/** Where the memories of a project are that had its root here. */
export type PlaceOf = (root: string, env: Caller['env']) => { dir: string }

type Deps = {
  places: Places
  placeOf: PlaceOf
  directories: Directories
  journal: Journal
  isPlace: (dir: string) => boolean
}

export type FindEnds = (request: { from: string; to: string }, caller: Caller) => Ends

export function createFindEnds({ places, placeOf, directories, journal, isPlace }: Deps): FindEnds {
  /** As it was seen when it was there; else where the rules put it. */
  const oldPlace = (from: string, caller: Caller): { dir: string; root: string } => {
    const root = spelled(from)
    const known = directories.list().filter((each) => [root, from].includes(each.root) && !lies(each.dir, each.root))
    const { dir } = placeOf(root, caller.env)
    const place = known.find((each) => each.dir === dir) ?? known[0] ?? { dir, root }
    if (known.length === 0 && !existsSync(place.dir) && journal.list({ dir: place.dir, limit: 1 }).length === 0)
      throw new MemoryError('NOT_FOUND', `no memories are known of a project at ${root}`, {
        hint: `they would be in ${place.dir}`,
      })
    return place
  }

  return ({ from, to }, caller) => {
    if (lstatSync(from, { throwIfNoEntry: false })?.isDirectory())
      throw new MemoryError('CONFLICT', `${from} is still there, and its memories are its own`, {
        hint: 'to copy them: memoryd export there, memoryd import here',
      })
    if (!statSync(to, { throwIfNoEntry: false })?.isDirectory())
      throw new MemoryError('NOT_FOUND', `there is no folder ${to}`, { hint: 'name the folder the project is in now' })
    const old = oldPlace(from, caller)
    const now = places.forWriting(to, caller)
    const ends = { fromDir: old.dir, fromRoot: old.root, toDir: now.dir, toRoot: now.root }
    if (old.dir === now.dir) return ends
    refuseShared(directories, ends)
    if (lstatSync(old.dir, { throwIfNoEntry: false })?.isSymbolicLink() && !leadToOne(ends))
      throw new MemoryError('CONFLICT', `${old.dir} is a link, and what it leads to may belong to others too`, {
        hint: `make ${now.dir} a link to the same place, then move again`,
      })
    if (existsSync(old.dir) && !(isPlace(old.dir) && statSync(old.dir).isDirectory()))
      throw new MemoryError('REFUSED', `${old.dir} is no place for memories`, { reason: 'path' })
    return ends
  }
}

/** The directories within the project, which have moved with it: its sub-agents'. */
export function endsWithin(directories: Directories, { fromRoot, toRoot }: Ends): Ends[] {
  return directories
    .list()
    .filter(({ dir, root }) => root === fromRoot && lies(dir, root))
    .map(({ dir }) => ({ fromDir: dir, fromRoot, toDir: toRoot + dir.slice(fromRoot.length), toRoot }))
}

function lies(dir: string, root: string): boolean {
  return dir.startsWith(`${root}/`)
}

/** Two names for one directory. */
export function leadToOne({ fromDir, toDir }: Ends): boolean {
  return existsSync(fromDir) && existsSync(toDir) && realpathSync(fromDir) === realpathSync(toDir)
}

/** Two roots may have one slug: what is still somebody's is not taken away. */
function refuseShared(directories: Directories, { fromDir, fromRoot, toRoot }: Ends): void {
  const other = directories
    .list()
    .find(({ dir, root }) => dir === fromDir && root !== fromRoot && root !== toRoot && existsSync(root))
  if (other)
    throw new MemoryError('CONFLICT', `${fromDir} holds the memories of ${other.root} as well, which is still there`, {
      hint: 'to copy them: memoryd export there, memoryd import here',
    })
}

/** Projects are known by their real path; of one that is gone, only the way to it can be followed. */
function spelled(root: string): string {
  const path = resolve('/', root)
  try {
    return join(realpathSync(dirname(path)), basename(path))
  } catch {
    return path
  }
}
