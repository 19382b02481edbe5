/** Watches the roots of all harnesses for names that may have changed, and says of each root how it is looked after. */
import { statSync } from 'node:fs'
import { createBurst } from '../platform/burst.ts'
import type { Clock } from '../platform/clock.ts'
import { type WatchedTree, watchTree } from '../platform/directory-watch.ts'
import type { Health } from '../platform/health.ts'
import type { Watch } from '../platform/path-wait.ts'
import { watchRemedy } from '../platform/watch-report.ts'
import { depthOf, mayHold, type Root } from './formats/formats.ts'

export type RootState = Root & { state: 'watching' | 'polling' | 'missing' }

type Deps = {
  clock: Clock
  health: Pick<Health, 'raise' | 'clear'>
  /** A name that ends with a slash is a folder in which anything may have changed, `/` the root. */
  onHint: (root: Root, names: ReadonlySet<string>) => void
  watch?: Watch
}

export type WatchedRoots = {
  /** Watches these and no others from now on. */
  set(roots: readonly Root[]): void
  /** Tries again what could not be watched. */
  refresh(): void
  states(roots: readonly Root[]): RootState[]
  stop(): void
}

/** A turn ends with several lines; an agent that writes without a pause is heard all the same. */
const QUIET_MS = 50
const LONGEST_MS = 300
const MOST_FOLDERS = 2_000

type Watched = { root: Root; tree: WatchedTree; stop(): void }

export function createWatchedRoots({ clock, health, onHint, watch }: Deps): WatchedRoots {
  const all = new Map<string, Watched>()

  const begin = (root: Root): Watched => {
    const burst = createBurst({
      clock,
      quietMs: QUIET_MS,
      longestMs: LONGEST_MS,
      onOver: (names) => onHint(root, names),
    })
    const tree = watchTree({
      root: root.path,
      depth: depthOf(root.harness),
      mostFolders: MOST_FOLDERS,
      enters: (folder) => mayHold(root, folder),
      onChange: burst.add,
      onState: report,
      ...(watch && { watch }),
    })
    return {
      root,
      tree,
      stop: () => {
        burst.stop()
        tree.stop()
      },
    }
  }

  /** A root that is not there is no trouble: most people use one harness or two. */
  const report = () => {
    for (const { root, tree } of all.values()) {
      const state = tree.state()
      if (state.how === 'watching' || state.code === 'CAP' || !isFolder(root.path)) continue
      const late = 'polling: what is new in transcripts is noticed by the next sweep, not at once'
      return health.raise('transcripts', `${late}; ${watchRemedy(state)}`)
    }
    health.clear('transcripts')
  }

  return {
    set: (roots) => {
      const wanted = new Map(roots.map((root) => [keyOf(root), root]))
      for (const [key, watched] of all) {
        if (wanted.has(key)) continue
        watched.stop()
        all.delete(key)
      }
      for (const [key, root] of wanted) if (!all.has(key)) all.set(key, begin(root))
      report()
    },
    refresh: () => {
      // Before, not after: while it is tried again nothing is in trouble. A root may have come since the last time.
      report()
      for (const { tree } of all.values()) tree.refresh()
    },
    states: (roots) =>
      roots.map((root) => {
        // One whose watch has yet to begin is found by the first sweep.
        const how = all.get(keyOf(root))?.tree.state().how ?? 'polling'
        return { ...root, state: isFolder(root.path) ? how : 'missing' }
      }),
    stop: () => {
      for (const { stop } of all.values()) stop()
    },
  }
}

function keyOf({ harness, path }: Root): string {
  return `${harness} ${path}`
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
