/**
 * Which files are as they were when they were read last. Kept as numbers: a sweep over 100,000 files that have not changed
 * shall neither ask the database for each nor remember their names.
 */
import type { Stats } from 'node:fs'
import { createNumberMap } from '../platform/number-map.ts'

/** None while the times are too fresh to tell the next change. */
export type Look = { path: number; look: number }

export type Looks = {
  of(path: string, stats: Stats, nowMs: number): Look | undefined
  isKnown(look: Look): boolean
  remember(look: Look): void
  forget(path: string): void
  clear(): void
}

/** As for cursors: two seconds on the coarsest file systems. */
const SETTLED_MS = 2_000

export function createLooks(): Looks {
  const known = createNumberMap()
  return {
    of: (path, { dev, ino, size, mtimeMs, ctimeMs }, nowMs) =>
      ctimeMs + SETTLED_MS < nowMs
        ? { path: numberOf(path), look: numberOf(`${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`) }
        : undefined,
    isKnown: ({ path, look }) => known.get(path) === look,
    remember: ({ path, look }) => known.set(path, look),
    forget: (path) => known.delete(numberOf(path)),
    clear: () => known.clear(),
  }
}

/** 53 bits of two mixed 32-bit hashes: two files in a million collide once in ten thousand lives. */
export function numberOf(text: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    high = Math.imul(high ^ code, 2_654_435_761)
    low = Math.imul(low ^ code, 1_597_334_677)
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0)
}
