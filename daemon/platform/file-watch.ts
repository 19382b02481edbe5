/** Calls back when a file changes, appears or vanishes. */
import { unwatchFile, watchFile } from 'node:fs'

/** One stat in this time: cheaper than it sounds, and unlike a watch it sees replaced, linked and not yet existing files. */
const LOOK_EVERY_MS = 2_000

export function watchOneFile(path: string, onChange: () => void): { stop(): void } {
  const listener = () => onChange()
  watchFile(path, { interval: LOOK_EVERY_MS, persistent: false }, listener)
  return { stop: () => unwatchFile(path, listener) }
}
