/**
 * Lets memories follow a project that was moved. A directory goes as a whole where nothing is in the way; else its memories
 * join the others through the gate. At every moment each of them is in one of the places, and what a kill interrupts is
 * finished or undone at the next start.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Moved } from '../../schema/transfer.ts'
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { message, syncPath } from '../platform/files.ts'
import { isCode } from '../platform/safe-folder.ts'
import type { Directories } from '../projects/projects.ts'
import type { Following } from './following.ts'
import { type Journal, newRunId } from './journal.ts'
import type { createMerging } from './merging.ts'
import type { Places } from './place.ts'
import { listMemories } from './scan.ts'
import type { Writer } from './writer.ts'

type Deps = {
  findEnds: FindEnds
  endsWithin: (ends: Ends) => Ends[]
  merging: ReturnType<typeof createMerging>
  writer: Writer
  moves: Moves
  following: Following
  clock: Clock
  /** Brings the journal up to what others did in a directory. */
  look: (dir: string) => Promise<unknown>
  onChange: (dir: string, files: string[], actor: string) => void
}

export type Moving = {
  move(request: { from: string; to: string }, caller: Caller): Promise<Moved>
  /** Takes from old places what a kill left there; tells what was done. */
  finish(): Promise<string[]>
}

export function createMoving(deps: Deps): Moving {
  const { findEnds, endsWithin, merging, writer, moves, following, clock, look, onChange } = deps
  const answer = (ends: Ends, how: Moved['how'], rest: Partial<Moved> = {}): Moved => ({
    root: ends.toRoot,
    dir: ends.toDir,
    how,
    files: [],
    skipped: [],
    renamed: [],
    stayed: [],
    ...rest,
  })

  const asWhole = (ends: Ends, actor: string): Moved | 'other-disk' => {
    const at = clock.now()
    const inode = inodeOf(ends.fromDir)
    const id = moves.begin({ ...ends, at, inode, files: [] })
    try {
      if (renameFolder(ends.fromDir, ends.toDir) === 'other-disk') {
        moves.end(id)
        return 'other-disk'
      }
    } catch (error) {
      // Once it has its new name, only following can end the move: at the latest at the next start.
      if (inodeOf(ends.toDir) !== inode) moves.end(id)
      throw error
    }
    following.whole({ ...ends, id }, at)
    const { files } = listMemories(ends.toDir)
    onChange(ends.toDir, files, actor)
    return answer(ends, 'whole', { files })
  }

  const oneByOne = async (ends: Ends, actor: string): Promise<Moved> => {
    const at = clock.now()
    const runId = newRunId('move', at)
    const by = { actor, reason: `moved from ${ends.fromRoot}`, runId }
    const { writes, files, ...told } = await merging.plan(ends, by)
    let id = 0
    const begin = () => {
      id = moves.begin({ ...ends, at, inode: undefined, files })
    }
    // 1. They are in the new place, and it is known that they came.
    const written = () => {
      begin()
      return () => moves.end(id)
    }
    const done = writes.length > 0 ? await writer.writeAlone(ends.toDir, writes, by, written) : []
    if (writes.length === 0) begin()
    const move: Move = { ...ends, id, at, inode: undefined, files, followed: false }
    // 2. What is kept about them is about the new place.
    following.files(move)
    // 3. They are only there.
    await clear(move)
    moves.end(id)
    const stayed = merging.leftBehind(ends.fromDir, told.stayed)
    const arrived = { files: done.map(({ file }) => file), ...told, stayed }
    return answer(ends, 'merged', { ...arrived, ...(done.length > 0 && { runId }) })
  }

  const clear = (move: Move) => merging.clear(move, (writes, author) => writer.writeAlone(move.fromDir, writes, author))

  /** What is told of each move that could be brought to an end, or not. */
  const finish = async (): Promise<string[]> => {
    const told: string[] = []
    for (const { id, fromDir, fromRoot, toRoot } of moves.list()) {
      try {
        await writer.alone(fromDir, async () => {
          // One that was on its way when we looked may be over by now.
          const move = moves.list().find((each) => each.id === id)
          if (!move) return
          if (!move.followed) following.files(move)
          await clear(move)
          moves.end(id)
          told.push(`finished the move of the memories of ${fromRoot} to ${toRoot}`)
        })
      } catch (error) {
        // Nothing is lost, and the next start tries again.
        told.push(`could not finish the move of the memories of ${fromRoot}: ${message(error)}`)
      }
    }
    return told
  }

  return {
    finish,
    move: async (request, caller) => {
      // What a full disk left half done comes first: it may be this very move.
      settleRenames(moves, () => following, clock.now())
      await finish()
      const ends = findEnds(request, caller)
      for (const within of endsWithin(ends)) following.whole(within, clock.now())
      if (ends.fromDir === ends.toDir) {
        following.project(ends)
        return answer(ends, 'followed')
      }
      await look(ends.fromDir)
      await look(ends.toDir)
      return aloneWithBoth(writer, ends, async () => {
        if (leadToOne(ends)) {
          following.whole(ends, clock.now())
          return answer(ends, 'followed')
        }
        if (!holdsNothing(ends.fromDir) && holdsNothing(ends.toDir)) {
          const moved = asWhole(ends, caller.actor)
          if (moved !== 'other-disk') return moved
        }
        return oneByOne(ends, caller.actor)
      })
    },
  }
}

/** For before anything else looks at directories: whether a rename happened is told by where the directory is now. */
export function settleRenames(moves: Moves, following: () => Following, at: number): string[] {
  return moves.list().flatMap((move) => {
    if (move.inode === undefined) return []
    if (inodeOf(move.toDir) === move.inode) {
      following().whole(move, at)
      return [`finished the move of ${move.fromDir} to ${move.toDir}`]
    }
    moves.end(move.id)
    return [`the move of ${move.fromDir} had not happened yet; it is as it was`]
  })
}

/** In one order for everybody: two moves the other way round would wait for each other. */
function aloneWithBoth<T>({ alone }: Writer, { fromDir, toDir }: Ends, work: () => Promise<T>): Promise<T> {
  if (fromDir < toDir) return alone(fromDir, () => alone(toDir, work))
  return alone(toDir, () => alone(fromDir, work))
}

/** Where a moved project was and is, and whether its memories may be taken from there. Moves nothing. */

/** Where the memories of a project are that had its root here. */
export type PlaceOf = (root: string, env: Caller['env']) => { dir: string }

type EndsDeps = {
  places: Places
  placeOf: PlaceOf
  directories: Directories
  journal: Journal
  isPlace: (dir: string) => boolean
}

export type FindEnds = (request: { from: string; to: string }, caller: Caller) => Ends

export function createFindEnds({ places, placeOf, directories, journal, isPlace }: EndsDeps): FindEnds {
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

/** Moves of projects that have begun and are not over: what a kill leaves of one is finished or undone at the next start. */

export type Ends = { fromDir: string; fromRoot: string; toDir: string; toRoot: string }

/** `hash`: what has to go from the old place; none when the file was gone before. */
export type MovedFile = { file: string; as: string; hash?: string }

export type Move = Ends & {
  id: number
  at: number
  /** The directory itself, when it is renamed as a whole: wherever it is, that is how far the move came. */
  inode: string | undefined
  /** Else the files that are brought, one by one. */
  files: MovedFile[]
  /** Whether what is kept about them is about the new place already. */
  followed: boolean
}

export type Moves = {
  begin(move: Omit<Move, 'id' | 'followed'>): number
  setFollowed(id: number): void
  end(id: number): void
  list(): Move[]
}

type Row = {
  id: number
  at: number
  from_dir: string
  from_root: string
  to_dir: string
  to_root: string
  inode: string | null
  files: string
  followed: number
}

export function createMoves(db: Db): Moves {
  const insert = db.prepare(`INSERT INTO moves (at, from_dir, from_root, to_dir, to_root, inode, files, followed)
    VALUES (?, ?, ?, ?, ?, ?, ?, 0)`)
  const follow = db.prepare('UPDATE moves SET followed = 1 WHERE id = ?')
  const remove = db.prepare('DELETE FROM moves WHERE id = ?')
  const list = db.prepare('SELECT * FROM moves ORDER BY id')
  return {
    begin: ({ at, fromDir, fromRoot, toDir, toRoot, inode, files }) =>
      Number(insert.run(at, fromDir, fromRoot, toDir, toRoot, inode ?? null, JSON.stringify(files)).lastInsertRowid),
    setFollowed: (id) => void follow.run(id),
    end: (id) => void remove.run(id),
    list: () => (list.all() as Row[]).map(fromRow),
  }
}

function fromRow({ id, at, from_dir, from_root, to_dir, to_root, inode, files, followed }: Row): Move {
  const ends = { fromDir: from_dir, fromRoot: from_root, toDir: to_dir, toRoot: to_root }
  return { id, at, ...ends, inode: inode ?? undefined, files: JSON.parse(files), followed: followed === 1 }
}

/** A memory directory as one thing: whether anything is in it, which one it is, and another name for it. */

/** Whatever name it has, the same directory has the same one; nothing for what is no directory. */
export function inodeOf(dir: string): string | undefined {
  const stats = lstatSync(dir, { bigint: true, throwIfNoEntry: false })
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined
}

/** Folders within folders count for nothing as long as no file is in them; a closed one may hold anything. */
export function holdsNothing(dir: string): boolean {
  return everythingIn(dir, 1).length === 0
}

/** Every file in it by its path, also those that are no memories. */
export function everythingIn(dir: string, most: number): string[] {
  const found: string[] = []
  const walk = (path: string) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats || found.length >= most) return
    const names = stats.isDirectory() ? namesIn(path) : undefined
    if (names) for (const name of names) walk(join(path, name))
    else found.push(relative(dir, path))
  }
  walk(dir)
  return found
}

function namesIn(dir: string): string[] | undefined {
  try {
    return readdirSync(dir).sort()
  } catch {
    return undefined
  }
}

/** On the disk when it returns. A target that holds nothing makes way; another disk is another matter. */
export function renameFolder(from: string, to: string): 'renamed' | 'other-disk' {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  removeFolders(to)
  try {
    renameSync(from, to)
  } catch (error) {
    if (isCode(error, 'EXDEV')) return 'other-disk'
    throw error
  }
  syncPath(dirname(to))
  syncPath(dirname(from))
  return 'renamed'
}

/** Fails on the first file: somebody may have put one there just now. */
export function removeFolders(dir: string): void {
  if (inodeOf(dir) === undefined) return
  for (const name of readdirSync(dir)) removeFolders(join(dir, name))
  rmdirSync(dir)
}
