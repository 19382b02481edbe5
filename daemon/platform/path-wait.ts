/** Waits for a path to appear or to become another: watches the nearest folder above it that is there. */
import { type FSWatcher, type Stats, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'

/** `fs.watch`, as far as it is used: tests put one under it that fails. */
export type Watch = (
  path: string,
  options: { persistent: false },
  onEvent: (event: string, name: string | null) => void,
) => Pick<FSWatcher, 'close' | 'on'>

export type PathWait = {
  /** Watches from wherever the path can be watched best now; what keeps it from doing so, if anything. */
  arm(): { code: string } | undefined
  stop(): void
}

/** Folders that come and go faster than they can be watched are left to whoever looks from time to time. */
const MOST_TRIES = 10

type Deps = { path: string; watch: Watch; onChange: () => void }

export function createPathWait({ path, watch, onChange }: Deps): PathWait {
  let held: { folder: string; identity: string; close: () => void } | undefined
  const stop = () => {
    held?.close()
    held = undefined
  }

  const hold = (folder: string, awaited: string, identity: string) => {
    const watcher = watch(folder, { persistent: false }, (_event, name) => {
      if (name === null || name === awaited || name === basename(folder)) onChange()
    })
    watcher.on('error', onChange)
    held = { folder, identity, close: () => watcher.close() }
  }

  const arm = () => {
    try {
      // Once more after each success: what appeared just before the watch stood was not seen by it.
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const { folder, awaited, identity } = nearest(path)
        if (held?.folder === folder && held.identity === identity) return undefined
        stop()
        hold(folder, awaited, identity)
      }
      return undefined
    } catch (error) {
      stop()
      return { code: codeOf(error) }
    }
  }
  return { arm, stop }
}

function nearest(path: string): { folder: string; awaited: string; identity: string } {
  for (let below = path; ; below = dirname(below)) {
    const folder = dirname(below)
    try {
      const stats = statSync(folder)
      if (stats.isDirectory()) return { folder, awaited: basename(below), identity: identityOf(stats) }
    } catch (error) {
      if (folder === below || !['ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error
    }
  }
}

/** With its birth: a file system gives the number of a folder that is gone to the next one at once. */
export function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev}:${ino}:${birthtimeMs}`
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code ?? error)
}
