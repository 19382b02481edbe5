/** Several files, written all or none. */
import type { Confined } from './confined.ts'
import { isCode } from './descend.ts'
import { twinKey } from './file-names.ts'
import type { Present } from './folder.ts'
import { hashOf, NEW_MODE } from './plain-file.ts'

/** `content`: nothing for a file that goes. */
type Step = { file: string; before: Before | undefined; content: string | Buffer | undefined }
type Before = Pick<Present, 'hash' | 'bytes' | 'mode'>

/** All of them, each only over what was seen; what was written before one failed is put back. */
export function putAll(folder: Confined, steps: readonly Step[]): void {
  const begun: Step[] = []
  try {
    for (const step of inOrder(steps)) {
      begun.push(step)
      put(folder, step)
    }
    folder.settle()
  } catch (error) {
    // Where it met somebody else's file, what stands there is theirs; any other trouble may have come after it was written.
    if (isCode(error, 'CONFLICT')) begun.pop()
    for (const step of begun.reverse()) putBack(folder, step)
    throw error
  }
}

/** What goes, goes last: as long as a write may fail, nothing has to come back. Only what is in the way of one goes first. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  // Mostly none goes.
  if (steps.every(({ content }) => content !== undefined)) return steps
  const written = new Set(steps.flatMap(({ file, content }) => (content === undefined ? [] : [twinKey(file)])))
  const rank = ({ file, content }: Step) => (content !== undefined ? 1 : written.has(twinKey(file)) ? 0 : 2)
  return [...steps].sort((a, b) => rank(a) - rank(b))
}

function put(folder: Confined, { file, before, content }: Step): void {
  if (content === undefined) {
    if (before) folder.remove(file, { expect: before.hash, mode: before.mode })
    return
  }
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  folder.write(file, bytes, { expect: before?.hash ?? null, mode: before?.mode ?? NEW_MODE, settle: 'later' })
}

/** To the byte, over nothing but what we wrote. What cannot be put back keeps no other from it: the failure before is told. */
function putBack(folder: Confined, { file, before, content }: Step): void {
  try {
    if (content === undefined) {
      if (before) folder.write(file, before.bytes, { expect: null, mode: before.mode })
    } else if (before) folder.write(file, before.bytes, { expect: hashOf(content) })
    else folder.remove(file, { expect: hashOf(content) })
  } catch {}
}
