/**
 * Lets memories follow a project that was moved. A directory goes as a whole where nothing is in the way; else its memories
 * join the others through the gate. At every moment each of them is in one of the places, and what a kill interrupts is
 * finished or undone at the next start.
 */
import type { Caller } from '../../schema/caller.ts'
import type { Moved } from '../../schema/move.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Following } from './following.ts'
import type { Apply, Gate } from './gate.ts'
import { listMemories } from './listing.ts'
import type { createMerging } from './merging.ts'
import { type FindEnds, leadToOne } from './move-ends.ts'
import type { Ends, Move, Moves } from './moves.ts'
import { newRunId } from './run-id.ts'
import { holdsNothing, inodeOf, renameFolder } from './whole-folder.ts'

type Deps = {
  findEnds: FindEnds
  endsWithin: (ends: Ends) => Ends[]
  merging: ReturnType<typeof createMerging>
  gate: Gate
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
  const { findEnds, endsWithin, merging, gate, moves, following, clock, look, onChange } = deps
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

  const oneByOne = async (ends: Ends, actor: string, apply: { old: Apply; now: Apply }): Promise<Moved> => {
    const at = clock.now()
    const runId = newRunId('move', at)
    const by = { actor, reason: `moved from ${ends.fromRoot}`, runId }
    const { writes, files, ...told } = await merging.plan(ends, by)
    let id = 0
    const begin = () => {
      id = moves.begin({ ...ends, at, inode: undefined, files })
    }
    // 1. They are in the new place, and it is known that they came.
    const done = writes.length > 0 ? await apply.now(writes, by, { before: begin, takeBack: () => moves.end(id) }) : []
    if (writes.length === 0) begin()
    const move: Move = { ...ends, id, at, inode: undefined, files, followed: false }
    // 2. What is kept about them is about the new place.
    following.files(move)
    // 3. They are only there.
    await merging.clear(move, apply.old)
    moves.end(id)
    const stayed = merging.leftBehind(ends.fromDir, told.stayed)
    const arrived = { files: done.map(({ file }) => file), ...told, stayed }
    return answer(ends, 'merged', { ...arrived, ...(done.length > 0 && { runId }) })
  }

  /** What is told of each move that could be brought to an end, or not. */
  const finish = async (): Promise<string[]> => {
    const told: string[] = []
    for (const { id, fromDir, fromRoot, toRoot } of moves.list()) {
      try {
        await gate.alone(fromDir, async (apply) => {
          // One that was on its way when we looked may be over by now.
          const move = moves.list().find((each) => each.id === id)
          if (!move) return
          if (!move.followed) following.files(move)
          await merging.clear(move, apply)
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
      return aloneWithBoth(gate, ends, async (apply) => {
        if (leadToOne(ends)) {
          following.whole(ends, clock.now())
          return answer(ends, 'followed')
        }
        if (!holdsNothing(ends.fromDir) && holdsNothing(ends.toDir)) {
          const moved = asWhole(ends, caller.actor)
          if (moved !== 'other-disk') return moved
        }
        return oneByOne(ends, caller.actor, apply)
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
function aloneWithBoth<T>(
  gate: Gate,
  { fromDir, toDir }: Ends,
  work: (apply: { old: Apply; now: Apply }) => Promise<T>,
): Promise<T> {
  if (fromDir < toDir) return gate.alone(fromDir, (old) => gate.alone(toDir, (now) => work({ old, now })))
  return gate.alone(toDir, (now) => gate.alone(fromDir, (old) => work({ old, now })))
}
