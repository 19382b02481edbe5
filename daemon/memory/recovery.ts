/** Completes at start what a kill interrupted: a change that is in the journal happens. Runs before any request is served. */
import { existsSync } from 'node:fs'
import { message } from '../platform/files.ts'
import { indexOf, isIndex } from './file-names.ts'
import { inFolder, type MemoryFolder } from './folder.ts'
import { upkeep } from './index-file.ts'
import { type Change, isExact, type Journal } from './journal.ts'

/** What had to be completed, and the directories that could not be looked after. */
type Recovery = { completed: string[]; problems: string[] }

/** `isPlace`: whether a directory still is one where memories may be. Links change while the daemon is away. */
export function recoverChanges(journal: Journal, dirs: readonly string[], isPlace: (dir: string) => boolean): Recovery {
  // What others did is done: only our own changes can be unfinished, and none of these was acknowledged.
  const pending = journal.pending().filter(({ actor }) => actor !== 'external')
  const recovery: Recovery = { completed: [], problems: [] }
  for (const dir of new Set([...dirs, ...pending.map((change) => change.dir)])) {
    if (!existsSync(dir) || !isPlace(dir)) continue
    try {
      const own = pending.filter((change) => change.dir === dir)
      const completed = inFolder(
        dir,
        (folder) => {
          // First of all: a new file may still have the name of its half-written one as well, and is not read until then.
          folder.sweep()
          return completeIn(folder, own)
        },
        { mayBeAt: isPlace },
      )
      recovery.completed.push(...completed)
    } catch (error) {
      recovery.problems.push(`${dir}: ${message(error)}`)
    }
  }
  if (journal.pending().length > 0) journal.settle()
  return recovery
}

function completeIn(folder: MemoryFolder, pending: readonly Change[]): string[] {
  const whole = pending.filter(({ partOf }) => partOf === undefined)
  const files = [...new Set(whole.map(({ file }) => file))]
  const written = files.filter((file) =>
    complete(
      folder,
      whole.filter((change) => change.file === file),
    ),
  )
  // Index lines are made anew from the memories rather than repeated: others may have been added meanwhile.
  const memories = files
    .filter((file) => !isIndex(file) && !files.includes(indexOf(file)))
    .map((file) => ({ file, content: folder.read(file)?.text }))
  for (const { file, bytes } of upkeep(folder, memories)) folder.write(file, bytes, { expect: undefined })
  return written
}

/** Brings a file that stands anywhere between its pending changes to the last of them; anything else is an edit of another program. */
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
