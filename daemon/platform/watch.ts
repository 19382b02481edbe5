/**
 * Watches folders or single files, over chokidar. A root may be a link, need not exist yet, and may vanish and come back. A
 * watch can miss something: callers that need certainty sweep as well.
 */
import { type Stats, statSync } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { sep } from 'node:path'
import type { Clock, Timer } from './clock.ts'

export type WatchFailure = { code: string; path: string }

export type WatchOptions = {
  clock: Clock
  depth: number
  isIgnored?: (path: string, stats?: Stats) => boolean
  /** Changes are delivered when none has come for so long, or when the first of them is `longestMs` old. */
  quietMs: number
  longestMs: number
  onChange: (paths: ReadonlySet<string>) => void
  /** Of the first root that is not watched completely; undefined when all are again. */
  onFailure: (failure: WatchFailure | undefined) => void
}

type Root = { identity: string; failure: WatchFailure | undefined; ready: Promise<void>; close(): void }

export function createWatch({ clock, depth, isIgnored, quietMs, longestMs, onChange, onFailure }: WatchOptions) {
  const roots = new Map<string, Root>()
  const changes = collectPaths(clock, quietMs, longestMs, onChange)
  let reported: WatchFailure | undefined

  const report = () => {
    const failure = [...roots.values()].find((root) => root.failure)?.failure
    if (failure?.code === reported?.code && failure?.path === reported?.path) return
    reported = failure
    onFailure(failure)
  }

  const open = (path: string, failure?: WatchFailure) => {
    roots.get(path)?.close()
    const root: Root = { identity: identityOf(path), failure, ready: Promise.resolve(), close: () => {} }
    roots.set(path, root)
    root.ready = watchRoot(path, root).catch((error) => fail(root, path, error))
  }

  const fail = (root: Root, path: string, error: unknown) => {
    root.failure = failureOf(error, path)
    report()
  }

  const watchRoot = async (path: string, root: Root) => {
    const [real, { watch }] = await Promise.all([followLink(path), import('chokidar')])
    const isOpen = () => roots.get(path) === root
    if (!isOpen()) return
    /** As the caller names it; undefined for what is not below the root, such as the folders above it. */
    const nameOf = (found: string) => {
      const start = [path, real].find((start) => found === start || found.startsWith(start + sep))
      return start === undefined ? undefined : path + found.slice(start.length)
    }
    const ignored = (found: string, stats?: Stats) => {
      const name = nameOf(found)
      if (name === undefined) return true
      // Not with chokidar's `depth`: while the root does not exist, that counts from the folder above it that does.
      const level = name.slice(path.length).split(sep).length - 1
      const isTooDeep = level > depth + 1 || (level > depth && stats?.isDirectory())
      return isTooDeep || (isIgnored?.(name, stats) ?? false)
    }
    const options = { ignoreInitial: true, followSymlinks: false, persistent: false, atomic: false }
    const watcher = watch([...new Set([path, real])], { ...options, ignored })
    const refollow = async () => {
      if ((await followLink(path)) !== real && isOpen()) open(path, root.failure)
    }
    watcher.on('all', (_event, found) => {
      const name = nameOf(found)
      if (name !== undefined) changes.add(name)
      if (name === path) void refollow().catch((error) => fail(root, path, error))
    })
    let hasFailed = false
    watcher.on('error', (error) => {
      hasFailed = true
      fail(root, path, error)
    })
    await new Promise<void>((resolve) => {
      watcher.once('ready', resolve)
      root.close = () => {
        resolve()
        void watcher.close()
      }
    })
    if (!hasFailed) root.failure = undefined
    report()
  }

  return {
    /** Replaces all roots and tries failed ones again. Resolves when they are watched, or cannot be. */
    set: async (paths: Iterable<string>) => {
      const wanted = new Set(paths)
      for (const [path, root] of roots) {
        if (wanted.has(path)) continue
        roots.delete(path)
        root.close()
      }
      for (const path of wanted) {
        const root = roots.get(path)
        // Its parent was replaced together with it, which no watch tells.
        const isAnother = root !== undefined && root.identity !== identityOf(path)
        if (isAnother) changes.add(path)
        if (!root || root.failure || isAnother) open(path, root?.failure)
      }
      report()
      await Promise.all([...roots.values()].map(({ ready }) => ready))
    },
    failureOf: (path: string) => roots.get(path)?.failure,
    stop: () => {
      changes.stop()
      for (const root of roots.values()) root.close()
      roots.clear()
    },
  }
}

function collectPaths(clock: Clock, quietMs: number, longestMs: number, deliver: (paths: ReadonlySet<string>) => void) {
  let paths = new Set<string>()
  let timer: Timer | undefined
  let firstMs = 0
  let lastMs = 0
  const look = () => {
    const leftMs = Math.min(lastMs + quietMs, firstMs + longestMs) - clock.elapsed()
    if (leftMs > 0) {
      timer = clock.after(leftMs, look)
      return
    }
    // Kept until then: the clock tries again what fails.
    deliver(paths)
    paths = new Set()
    timer = undefined
  }
  return {
    add: (path: string) => {
      paths.add(path)
      lastMs = clock.elapsed()
      if (timer) return
      firstMs = lastMs
      timer = clock.after(quietMs, look)
    },
    stop: () => timer?.stop(),
  }
}

async function followLink(path: string): Promise<string> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await realpath(path) : path
  } catch {
    return path
  }
}

/** With the birth time: file systems reuse the inode of a deleted folder at once. */
function identityOf(path: string): string {
  try {
    const { dev, ino, birthtimeMs } = statSync(path)
    return `${dev}:${ino}:${birthtimeMs}`
  } catch {
    return 'missing'
  }
}

function failureOf(error: unknown, path: string): WatchFailure {
  const { code = String(error), path: where = path } = error as NodeJS.ErrnoException
  return { code, path: where }
}

export function watchRemedy({ code, path }: WatchFailure): string {
  const remedies: Record<string, string> = {
    ENOSPC: 'the limit of inotify watches is reached: raise fs.inotify.max_user_watches with sysctl',
    EMFILE:
      'too many files or inotify instances are open: raise the limit of open files or fs.inotify.max_user_instances',
  }
  return remedies[code] ?? `${path} cannot be watched (${code}): make it readable for you`
}
