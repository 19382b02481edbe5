/** Names for runs of our own. */
import { randomBytes } from 'node:crypto'

/** Tells what and when to a person, and is like no other, whatever names a file brings along. */
export function newRunId(kind: 'extract' | 'import' | 'move' | 'undo', at: number): string {
  return `${kind}-${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`
}

export function isMove(runId: string): boolean {
  return /^move-\d{8}T\d{6}Z-[0-9a-f]{8}$/.test(runId)
}
