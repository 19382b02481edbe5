/** A folder tree with hostile things around it, opened for a test. */
import { expect, onTestFinished } from 'vitest'
import { type MemoryFolder, openFolder } from '../../daemon/memory/folder.ts'
import { bestReach, type Reach } from '../../daemon/platform/safe-folder.ts'
import { prepareGround } from '../memory/containment-corpus.ts'
import type { Ground } from '../memory/hostile-names.ts'
import { makeHome } from '../support/home.ts'

export const native = bestReach(process.platform)
/** By path works everywhere, so the way of other systems is tested here too. */
export const reaches = [...new Set<Reach>([native, 'path'])]

export const bytes = Buffer.from('ours\n')
export const anything = { expect: undefined }

export function open(ground: Ground, reach: Reach = native): MemoryFolder {
  const folder = openFolder(ground.memory, { reach })
  onTestFinished(folder.close)
  return folder
}

export function makeGround(): Ground {
  return prepareGround(makeHome().dir)
}

/** What came of it, for comparing: the value, or the error that was thrown. */
export function outcome(act: () => unknown): unknown {
  try {
    return act()
  } catch (error) {
    return error
  }
}

export const refusal = (says = '') =>
  expect.objectContaining({ code: 'REFUSED', reason: 'path', message: expect.stringContaining(says) })
