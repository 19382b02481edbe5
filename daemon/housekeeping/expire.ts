/** Decides which kept files have to go. Does no I/O. */

export type Kept = { path: string; bytes: number; modifiedMs: number }
export type Rule = { days: number; maxBytes: number }

const DAY_MS = 86_400_000

/** Too old first; then, oldest first, until the rest fits. A stamp in the future counts as new, not as expired. */
export function expired(files: readonly Kept[], { days, maxBytes }: Rule, nowMs: number): Kept[] {
  const newestFirst = files.toSorted((a, b) => b.modifiedMs - a.modifiedMs)
  let keptBytes = 0
  return newestFirst.filter((file) => {
    if (nowMs - file.modifiedMs > days * DAY_MS) return true
    keptBytes += file.bytes
    return keptBytes > maxBytes
  })
}
