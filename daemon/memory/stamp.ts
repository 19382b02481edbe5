/** The stamp of a file: as long as it stays, the file need not be read again. Pure. */
import type { Stats } from 'node:fs'

/** The coarsest stamp of a file system in use counts two seconds: a second write within it can leave it as it was. */
const SETTLED_MS = 3_000

export function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

/** Whether a change after `nowMs` is sure to show. Nobody can set a file's time of change, so only that one counts. */
export function isSettled({ ctimeMs }: Pick<Stats, 'ctimeMs'>, nowMs: number): boolean {
  return nowMs - ctimeMs > SETTLED_MS
}
