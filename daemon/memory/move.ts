/**
 * Lets memories follow a project that was moved: its directory is renamed as a whole, then the journal and all other tables name
 * the new one. A kill in between is finished or undone at the next start.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Moved } from '../../schema/transfer.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { isDiskError } from '../platform/disk.ts'
import { syncPath } from '../platform/files.ts'
import { isCode } from '../platform/safe-folder.ts'
import type { Directories, Projects } from '../projects/projects.ts'
import type { ExternalEdits } from './external-edits.ts'
import type { Journal } from './journal.ts'
import { listMemories } from './scan.ts'
import { halfDone, type OnChange, type Writer } from './writer.ts'

export type Ends = { fromDir: string; fromRoot: string; toDir: string; toRoot: string }

export function createMoves(core: Core, projects: Projects, journal: Journal, writer: Writer, external: ExternalEdits) {
  const { clock, logged } = core
  const db = core.db.history
  const listeners: OnChange[] = []
  const { directories } = projects
  const begun = createMoveTable(db)
  const follow = createFollowing(db, journal, projects)

  const rename = (ends: Ends, actor: string): Moved => {
    const inode = inodeOf(ends.fromDir)
    // Before the move: a folder that cannot be listed must not make it fail once it is done.
    const { files } = listMemories(ends.fromDir)
    const id = begun.begin(ends, clock.now(), inode)
    try {
      renameFolder(ends)
      settleMoves(core, projects, journal)
    } catch (error) {
      if (isDiskError(error) && inodeOf(ends.toDir) === inode) renameBack(ends)
      // As long as the directory has its new name, the move is finished: at the latest at the next start.
      if (inodeOf(ends.toDir) === inode) throw halfDone(`the move to ${ends.toDir} may still happen`, error)
      begun.end(id)
      throw error
    }
    for (const listener of listeners) listener(ends.toDir, files, actor)
    return answer(ends, 'whole', files)
  }

  const findEnds = ({ from, to }: { from: string; to: string }, caller: Caller): Ends => {
    if (lstatSync(from, { throwIfNoEntry: false })?.isDirectory())
      throw new MemoryError('CONFLICT', `${from} is still there, and its memories are its own`, { hint: COPY_HINT })
    if (!statSync(to, { throwIfNoEntry: false })?.isDirectory())
      throw new MemoryError('NOT_FOUND', `there is no folder ${to}`, { hint: 'name the folder the project is in now' })
    const old = findOld(from, caller)
    const now = projects.forWriting(to, caller)
    const ends = { fromDir: old.dir, fromRoot: old.root, toDir: now.dir, toRoot: now.root }
    if (ends.fromDir !== ends.toDir) refuseUnfit(ends)
    return ends
  }

  const findOld = (from: string, caller: Caller): { dir: string; root: string } => {
    const root = spelled(from)
    const known = directories.list().filter((each) => [root, from].includes(each.root) && !lies(each.dir, each.root))
    const dir = projects.dirAt(root, caller)
    const place = known.find((each) => each.dir === dir) ?? known[0] ?? { dir, root }
    if (known.length === 0 && !existsSync(place.dir) && journal.list({ dir: place.dir, limit: 1 }).length === 0)
      throw new MemoryError('NOT_FOUND', `no memories are known of a project at ${root}`, {
        hint: `they would be in ${place.dir}`,
      })
    return place
  }

  const refuseUnfit = (ends: Ends): void => {
    const { fromDir, fromRoot, toDir, toRoot } = ends
    // Two roots may have one slug.
    const other = directories
      .list()
      .find(({ dir, root }) => dir === fromDir && root !== fromRoot && root !== toRoot && existsSync(root))
    if (other)
      throw new MemoryError(
        'CONFLICT',
        `${fromDir} holds the memories of ${other.root} as well, which is still there`,
        { hint: COPY_HINT },
      )
    if (lstatSync(fromDir, { throwIfNoEntry: false })?.isSymbolicLink() && !leadToOne(ends))
      throw new MemoryError('CONFLICT', `${fromDir} is a link, and what it leads to may belong to others too`, {
        hint: `make ${toDir} a link to the same place, then move again`,
      })
    if (existsSync(fromDir) && !(projects.isMemoryDir(fromDir) && statSync(fromDir).isDirectory()))
      throw new MemoryError('REFUSED', `${fromDir} is no place for memories`, { reason: 'path' })
  }

  return {
    onMove: (listener: OnChange) => void listeners.push(listener),
    move: async (request: { from: string; to: string }, caller: Caller): Promise<Moved> => {
      // What a full disk left half done may be this very move.
      settleMoves(core, projects, journal)
      const ends = findEnds(request, caller)
      for (const within of endsWithin(directories, ends)) follow.directory(within, clock.now())
      if (ends.fromDir === ends.toDir) {
        follow.project(ends)
        return answer(ends, 'followed')
      }
      for (const dir of [ends.fromDir, ends.toDir])
        await external.look(dir).catch(logged('a memory directory could not be looked through'))
      return aloneWithBoth(writer, ends, async () => {
        const isOne = leadToOne(ends)
        if (!isOne && !holdsNothing(ends.toDir)) throw refusal(ends, `${ends.toDir} is not empty`)
        if (!isOne && !holdsNothing(ends.fromDir)) return rename(ends, caller.actor)
        follow.directory(ends, clock.now())
        return answer(ends, 'followed')
      })
    },
  }
}

/** Ends what a kill interrupted, and returns what was done. Before anything else looks at directories. */
export function settleMoves({ clock, db: { history: db } }: Core, projects: Projects, journal: Journal): string[] {
  const begun = createMoveTable(db)
  const follow = createFollowing(db, journal, projects)
  const end = db.transaction((move: ReturnType<typeof begun.list>[number]): string => {
    const { id, inode, fromDir, toDir } = move
    begun.end(id)
    // An earlier version moved files one by one where there were others: each is in one of the two directories, or in both.
    if (inode === null) return `the move of ${fromDir} to ${toDir} was broken off; nothing is lost`
    if (inodeOf(toDir) !== inode) return `the move of ${fromDir} had not happened yet; it is as it was`
    follow.directory(move, clock.now())
    return `finished the move of ${fromDir} to ${toDir}`
  })
  return begun.list().map((move) => end(move))
}

const COPY_HINT = 'to copy them: memoryd export there, memoryd import --memories here'

function refusal({ fromRoot, toRoot }: Ends, message: string): MemoryError {
  return new MemoryError('CONFLICT', message, {
    hint: `to join them: memoryd export --project ${fromRoot} | memoryd import --memories - --project ${toRoot}`,
  })
}

function answer({ toRoot, toDir }: Ends, how: Moved['how'], files: string[] = []): Moved {
  return { root: toRoot, dir: toDir, how, files }
}

/** Directories of sub-agents, which lie within the project and have moved with it. */
function endsWithin(directories: Directories, { fromRoot, toRoot }: Ends): Ends[] {
  return directories
    .list()
    .filter(({ dir, root }) => root === fromRoot && lies(dir, root))
    .map(({ dir }) => ({ fromDir: dir, fromRoot, toDir: toRoot + dir.slice(fromRoot.length), toRoot }))
}

function lies(dir: string, root: string): boolean {
  return dir.startsWith(`${root}/`)
}

function leadToOne({ fromDir, toDir }: Ends): boolean {
  return existsSync(fromDir) && existsSync(toDir) && realpathSync(fromDir) === realpathSync(toDir)
}

/** Projects are known by their real path; of one that is gone, only its parent's is known. */
function spelled(root: string): string {
  const path = resolve('/', root)
  try {
    return join(realpathSync(dirname(path)), basename(path))
  } catch {
    return path
  }
}

/** Always in one order: two opposite moves would wait for each other for ever. */
function aloneWithBoth<T>({ alone }: Writer, { fromDir, toDir }: Ends, work: () => Promise<T>): Promise<T> {
  const [first, second] = fromDir < toDir ? [fromDir, toDir] : [toDir, fromDir]
  return alone(first, () => alone(second, work))
}

/** Unfinished moves. `inode`: of the directory, under either name. */
export function createMoveTable(db: Db) {
  const insert = db.prepare(`INSERT INTO moves (at, from_dir, from_root, to_dir, to_root, inode, files, followed)
    VALUES (?, ?, ?, ?, ?, ?, '[]', 0)`)
  const remove = db.prepare('DELETE FROM moves WHERE id = ?')
  const list =
    db.prepare(`SELECT id, from_dir AS fromDir, from_root AS fromRoot, to_dir AS toDir, to_root AS toRoot, inode
    FROM moves ORDER BY id`)
  return {
    begin: ({ fromDir, fromRoot, toDir, toRoot }: Ends, at: number, inode: string | undefined): number =>
      Number(insert.run(at, fromDir, fromRoot, toDir, toRoot, inode).lastInsertRowid),
    end: (id: number): void => void remove.run(id),
    list: () => list.all() as (Ends & { id: number; inode: string | null })[],
  }
}

function createFollowing(db: Db, journal: Journal, projects: Projects) {
  const tables = ['changes', 'reviews', 'tombstones', 'tombstone_values', 'purges', 'dreams', 'recalled']
  const ofDirectory = [
    ...tables.map((table) => `UPDATE ${table} SET dir = @toDir WHERE dir = @fromDir`),
    // They name the old directory: a session that goes on would write there.
    'DELETE FROM prompts WHERE dir = @fromDir',
  ].map((sql) => db.prepare(sql))
  const project = ({ fromDir, fromRoot, toDir, toRoot }: Ends): void => {
    projects.moved({ dir: fromDir, root: fromRoot }, { dir: toDir, root: toRoot })
  }
  /** Files whose last change would be one of the new place, about a file that was there before. */
  const misled = ({ fromDir, toDir }: Ends) =>
    [...journal.hashes(fromDir)].flatMap(([file, hash]) => {
      const there = journal.tip(toDir, file)
      const version = there && there.hash !== hash ? journal.latest(fromDir, file)?.after : undefined
      return version ? [{ file, version }] : []
    })
  return {
    /** The same place for another project. */
    project: db.transaction(project),
    /** The same files in another place, or under another name of the place. */
    directory: db.transaction((ends: Ends, at: number) => {
      const { fromDir, toDir } = ends
      const again = misled(ends)
      for (const statement of ofDirectory) statement.run({ fromDir, toDir })
      const by = { actor: 'user', reason: 'moved with its project', runId: undefined, evidence: [] }
      const entries = again.map(({ file, version }) => {
        return { ...by, at, dir: toDir, file, op: 'create' as const, before: undefined, after: version, undoable: true }
      })
      if (entries.length > 0) {
        journal.append(entries)
        journal.distrust()
        journal.settle()
      }
      project(ends)
    }),
  }
}

export function inodeOf(dir: string): string | undefined {
  const stats = lstatSync(dir, { bigint: true, throwIfNoEntry: false })
  return stats?.isDirectory() ? `${stats.dev}:${stats.ino}` : undefined
}

/** Empty folders count for nothing; one that cannot be read may hold anything. */
export function holdsNothing(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats?.isDirectory()) return !stats
  try {
    return readdirSync(path).every((name) => holdsNothing(join(path, name)))
  } catch {
    return false
  }
}

/** On the disk when it returns. A target without files is removed first. */
export function renameFolder(ends: Ends): void {
  const { fromDir, toDir } = ends
  mkdirSync(dirname(toDir), { recursive: true, mode: 0o700 })
  removeFolders(toDir)
  try {
    renameSync(fromDir, toDir)
  } catch (error) {
    if (isCode(error, 'EXDEV')) throw refusal(ends, `${toDir} is on another disk`)
    throw error
  }
  syncPath(dirname(toDir))
  syncPath(dirname(fromDir))
}

/** The journal still has the memories in their old place. */
function renameBack({ fromDir, toDir, ...roots }: Ends): void {
  try {
    renameFolder({ ...roots, fromDir: toDir, toDir: fromDir })
  } catch {}
}

/** Fails on the first file, which another program may have put there just now. */
function removeFolders(dir: string): void {
  if (inodeOf(dir) === undefined) return
  for (const name of readdirSync(dir)) removeFolders(join(dir, name))
  rmdirSync(dir)
}
