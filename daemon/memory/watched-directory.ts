/** One memory directory that is watched: tells, once it is quiet again, in which memories something may have changed. */
import { createBurst } from '../platform/burst.ts'
import type { Clock } from '../platform/clock.ts'
import { watchTree } from '../platform/directory-watch.ts'
import type { Watch } from '../platform/path-wait.ts'
import type { WatchState } from '../platform/watch-report.ts'
import { DEPTH_FOLDERS, isMemoryFolder, isMemoryName } from './scan.ts'

export type WatchedDirectory = { refresh(): void; stop(): void }

type Deps = {
  dir: string
  isPlace: (dir: string) => boolean
  clock: Clock
  watch: Watch | undefined
  /** No names: it may be anything. */
  onChange: (names: readonly string[] | undefined) => void
  onState: (state: WatchState) => void
}

/** An editor's save is over by then. */
const QUIET_MS = 200
const LONGEST_MS = 2_000
const MOST_FOLDERS = 100

export function watchDirectory({ dir, isPlace, clock, watch, onChange, onState }: Deps): WatchedDirectory {
  const burst = createBurst({
    clock,
    quietMs: QUIET_MS,
    longestMs: LONGEST_MS,
    onOver: (names) => onChange([...names].some(isFolder) ? undefined : [...names]),
  })
  const tree = watchTree({
    root: dir,
    depth: DEPTH_FOLDERS,
    mostFolders: MOST_FOLDERS,
    accepts: isPlace,
    enters: isMemoryFolder,
    onChange: (names) => {
      const ours = [...names].filter((name) => isFolder(name) || isMemoryName(name))
      if (ours.length > 0) burst.add(ours)
    },
    onState,
    ...(watch && { watch }),
  })
  return {
    refresh: tree.refresh,
    stop: () => {
      burst.stop()
      tree.stop()
    },
  }
}

function isFolder(name: string): boolean {
  return name.endsWith('/')
}
