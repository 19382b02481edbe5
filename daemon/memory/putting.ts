/** Several files, written all or none. */
import type { Confined } from './confined.ts'
import type { Present } from './folder.ts'
import { hashOf } from './plain-file.ts'

type Step = { file: string; before: Present | undefined; content: string | undefined }

/** All of them, each only over what was seen; what was written before one failed is put back. */
export function putAll(folder: Confined, steps: readonly Step[]): void {
  const done: Step[] = []
  try {
    for (const step of steps) {
      put(folder, step)
      done.push(step)
    }
    folder.settle()
  } catch (error) {
    for (const { file, before, content } of done.reverse()) {
      const written = content === undefined ? undefined : { hash: hashOf(content), text: content, exact: true }
      if (!before || before.exact) put(folder, { file, before: written, content: before?.text })
    }
    folder.settle()
    throw error
  }
}

function put(folder: Confined, { file, before, content }: Step): void {
  if (content !== undefined) folder.write(file, Buffer.from(content), { expect: before?.hash ?? null, settle: 'later' })
  else if (before) folder.remove(file, { expect: before.hash })
}
