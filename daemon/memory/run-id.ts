/** Names for runs of our own. */
import { randomBytes } from 'node:crypto'

/** Tells what and when to a person, and is like no other, whatever names a file brings along. */
export function newRunId(kind: 'dream' | 'extract' | 'import' | 'move' | 'undo', at: number): string {
  return `${kind}-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`
}

/** Put a directory in order: decided about as a whole. */
export function isDream(runId: string): boolean {
  return /^dream-\d{8}T\d{6}Z-[0-9a-f]{8}$/.test(runId)
}

export function isMove(runId: string): boolean {
  return /^move-\d{8}T\d{6}Z-[0-9a-f]{8}$/.test(runId)
}
