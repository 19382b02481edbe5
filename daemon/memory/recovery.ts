/**
 * Completes what a kill or a failing disk interrupted: a change that is in the journal happens. Runs before any request is served,
 * and before anything else is done in a directory where a change was left half done.
 */
import { existsSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { message } from '../platform/files.ts'
import { indexOf, isIndex } from './file-names.ts'
import { inFolder, type MemoryFolder } from './folder.ts'
import { upkeep } from './index-file.ts'
import { type Change, isExact, type Journal } from './journal.ts'
import { whereabouts } from './scan.ts'

type Recovery = { completed: string[]; problems: string[] }

/** `isPlace`: whether a directory still is one where memories may be. Links change while the daemon is away. */
export function recoverChanges(journal: Journal, dirs: readonly string[], isPlace: (dir: string) => boolean): Recovery {
  const pending = journal.pending()
  const recovery: Recovery = { completed: [], problems: [] }
  for (const dir of new Set([...dirs, ...pending.map((change) => change.dir)])) {
    const own = pending.filter((change) => change.dir === dir)
    try {
      recovery.completed.push(...finishChanges(journal, dir, own, isPlace))
    } catch (error) {
      journal.leaveOpen(wholes(own))
      recovery.problems.push(`${dir}: ${message(error)}`)
    }
  }
  if (pending.length > 0) journal.settle()
  return recovery
}

/** Throws where it cannot be done yet. Where there is no such directory any more, nothing is left to do. */
export function finishChanges(
  journal: Journal,
  dir: string,
  pending: readonly Change[],
  isPlace: (dir: string) => boolean,
): string[] {
  if (pending.length > 0 && whereabouts(dir) === 'unknown')
    throw new MemoryError('DEGRADED', `the memory directory ${dir} is out of reach`)
  // Changes of other programs are in the files already; ours that are pending were not acknowledged.
  const ours = pending.filter(({ actor }) => actor !== 'external')
  const complete = (folder: MemoryFolder) => {
    // First: a new file may still have a second, temporary name, and is not read until that is gone.
    folder.sweep()
    return completeIn(folder, ours)
  }
  const completed = existsSync(dir) && isPlace(dir) ? inFolder(dir, complete, { mayBeAt: isPlace }) : []
  journal.finished(wholes(pending))
  return completed
}

function wholes(changes: readonly Change[]): number[] {
  return changes.filter(({ partOf, actor }) => partOf === undefined && actor !== 'external').map(({ id }) => id)
}

function completeIn(folder: MemoryFolder, pending: readonly Change[]): string[] {
  const whole = pending.filter(({ partOf }) => partOf === undefined)
  const files = [...new Set(whole.map(({ file }) => file))]
  const changesOf = (file: string) => whole.filter((change) => change.file === file)
  const written = files.filter((file) => complete(folder, changesOf(file)))
  // Index lines are made from the memories, not repeated: others may have been added since.
  const memories = files
    .filter((file) => !isIndex(file) && !files.includes(indexOf(file)))
    .map((file) => ({ file, content: folder.read(file)?.text }))
  for (const { file, bytes } of upkeep(folder, memories)) folder.write(file, bytes, { expect: undefined })
  return written
}

/** Brings a file from any of its pending changes to the last one; any other content is an edit of another program and stays. */
function complete(folder: MemoryFolder, changes: readonly Change[]): boolean {
  const last = changes.at(-1)
  if (!last) return false
  const present = folder.read(last.file)?.hash
  if (present === last.after?.hash || !changes.some(({ before }) => before?.hash === present)) return false
  if (!last.after) folder.remove(last.file, { expect: present })
  else if (last.after.text === undefined || !isExact(last.after)) return false
  else folder.write(last.file, Buffer.from(last.after.text), { expect: present ?? null })
  return true
}
