/** Completes at start what a kill interrupted: a change that is in the journal happens. Runs before anyone is served. */
import { existsSync } from 'node:fs'
import type { Change, Journal } from '../store/journal.ts'
import type { Confined } from './confined.ts'
import { inFolder, isIndex, readPresent } from './folder.ts'
import { hashOf } from './plain-file.ts'
import { upkeep } from './upkeep.ts'

/** Returns the files that had to be completed. */
export function recoverChanges(journal: Journal, dirs: readonly string[]): string[] {
  const pending = journal.since(journal.applied())
  const completed = [...new Set([...dirs, ...pending.map(({ dir }) => dir)])]
    .filter((dir) => existsSync(dir))
    .flatMap((dir) =>
      inFolder(dir, (folder) => {
        folder.sweep()
        return completeIn(
          folder,
          pending.filter((change) => change.dir === dir),
        )
      }),
    )
  const last = pending.at(-1)
  if (last) journal.setApplied(last.id)
  return completed
}

function completeIn(folder: Confined, pending: readonly Change[]): string[] {
  const whole = pending.filter(({ partOf }) => partOf === undefined)
  const files = [...new Set(whole.map(({ file }) => file))]
  const written = files.filter((file) =>
    complete(
      folder,
      whole.filter((change) => change.file === file),
    ),
  )
  if (files.some(isIndex)) return written
  // Index lines are made anew from the memories rather than repeated: others may have been added meanwhile.
  const memories = files.map((file) => ({ file, content: readPresent(folder, file)?.text }))
  for (const { file, text } of upkeep(folder, memories)) folder.write(file, Buffer.from(text), { expect: undefined })
  return written
}

/** Brings a file that stands anywhere between its pending changes to the last of them; anything else is somebody's edit. */
function complete(folder: Confined, changes: readonly Change[]): boolean {
  const last = changes.at(-1)
  if (!last) return false
  const present = readPresent(folder, last.file)?.hash
  if (present === last.after?.hash || !changes.some(({ before }) => before?.hash === present)) return false
  if (!last.after) folder.remove(last.file, { expect: present })
  else if (hashOf(Buffer.from(last.after.text)) !== last.after.hash) return false
  else folder.write(last.file, Buffer.from(last.after.text), { expect: present ?? null })
  return true
}
