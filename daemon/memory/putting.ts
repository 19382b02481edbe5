/** Several files, written all or none. */
import type { Confined } from './confined.ts'
import type { Present } from './folder.ts'
import { hashOf, NEW_MODE } from './plain-file.ts'

type Content = string | Buffer | undefined
type Step = { file: string; before: Present | undefined; content: Content }

/** All of them, each only over what was seen; what was written before one failed is put back. */
export function putAll(folder: Confined, steps: readonly Step[]): void {
  const done: Step[] = []
  try {
    for (const step of steps) {
      put(folder, { ...step, mode: step.before?.mode ?? NEW_MODE })
      done.push(step)
    }
    folder.settle()
  } catch (error) {
    for (const { file, before, content } of done.reverse()) {
      const written = content === undefined ? undefined : { hash: hashOf(content) }
      if (!before || before.exact) put(folder, { file, before: written, content: before?.text })
    }
    folder.settle()
    throw error
  }
}

type Put = { file: string; before: { hash: string } | undefined; content: Content; mode?: number }

function put(folder: Confined, { file, before, content, mode }: Put): void {
  if (content === undefined) return void (before && folder.remove(file, { expect: before.hash }))
  const expect = before?.hash ?? null
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  folder.write(file, bytes, { expect, settle: 'later', ...(mode !== undefined && { mode }) })
}
