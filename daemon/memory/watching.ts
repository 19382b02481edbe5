/**
 * Has every known memory directory looked through: at the start, soon after somebody changed something in it, and from
 * time to time in any case, for a watch can miss something. What a look finds and does is not decided here.
 */
import { existsSync, statSync } from 'node:fs'
import { createBurst } from '../platform/burst.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import { watchTree } from '../platform/directory-watch.ts'
import type { Health } from '../platform/health.ts'
import type { Watch } from '../platform/path-wait.ts'
import { aborted } from '../platform/process.ts'
import { type WatchState, watchRemedy } from '../platform/watch-report.ts'
import { DEPTH_FOLDERS, isMemoryFolder, isMemoryName } from './scan.ts'

type Deps = {
  known: () => string[]
  /** Compares a directory with the journal, all of it or only these names. */
  look: (dir: string, names?: readonly string[]) => Promise<unknown>
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  clock: Clock
  health: Pick<Health, 'raise' | 'clear'>
  onError: (error: unknown) => void
  watch?: Watch | undefined
}

export type Watching = {
  /** Watches, then looks through everything once: for what others changed while nobody watched. */
  start(): void
  /** Somebody asked for this directory: it is watched rather than one that nobody has asked for in a long time. */
  used(dir: string, seen: 'new' | 'known'): void
  lookEverywhere(): Promise<void>
  stop(signal: AbortSignal): Promise<void>
}

/** What is not watched is looked through in every sweep, a watched directory in one of twenty: every ten minutes. */
const SWEEP_MS = 30_000
const SLOTS = 20
/** Of more directories, those used last are watched: in this run, and before that by the time of their last change. */
export const MOST_WATCHED = 500

type Entry = {
  dir: string
  slot: number
  watched: WatchedDirectory | undefined
  state: WatchState
  /** A look failed, with this. */
  behind: string | undefined
  /** There was nothing to look at. */
  gone: boolean
}

const WATCHING: WatchState = { how: 'watching' }

export function createWatching(deps: Deps): Watching {
  const { known, look, isPlace, clock, health, onError, watch } = deps
  /** The one used last comes last. */
  const entries = new Map<string, Entry>()
  const running = new Set<Promise<void>>()
  let phase: 'resting' | 'running' | 'stopped' = 'resting'
  let sweeping: Timer | undefined
  let sweeps = 0
  let made = 0
  let count = 0

  const track = (work: Promise<void>): Promise<void> => {
    running.add(work)
    return work.finally(() => running.delete(work))
  }

  const lookAt = (entry: Entry, names?: readonly string[]): Promise<void> => {
    const gone = !existsSync(entry.dir)
    const looked = () => {
      if (names) return
      entry.behind = undefined
      entry.gone = gone
    }
    const failed = (error: unknown) => {
      if (entry.behind !== String(error)) onError(error)
      entry.behind = String(error)
    }
    return track(look(entry.dir, names).then(looked, failed))
  }

  const entryOf = (dir: string): Entry => {
    const entry = entries.get(dir) ?? {
      dir,
      slot: made++ % SLOTS,
      watched: undefined,
      state: WATCHING,
      behind: undefined,
      gone: false,
    }
    if (!entries.has(dir)) entries.set(dir, entry)
    return entry
  }

  const arm = (entry: Entry) => {
    if (entry.watched || phase !== 'running') return
    count++
    entry.watched = watchDirectory({
      dir: entry.dir,
      isPlace,
      clock,
      watch,
      onChange: (names) => void lookAt(entry, names),
      onState: (state) => {
        entry.state = state
        report()
      },
    })
  }

  const disarm = (entry: Entry) => {
    if (!entry.watched) return
    count--
    entry.watched.stop()
    entry.watched = undefined
    entry.state = WATCHING
    report()
  }

  const report = () => {
    for (const { state } of entries.values())
      if (state.how === 'polling' && state.code !== 'CAP') return health.raise('watch', words(state))
    health.clear('watch')
  }

  const used: Watching['used'] = (dir, seen) => {
    if (phase === 'stopped') return
    if (phase === 'resting') return void (seen === 'new' && lookAt(entryOf(dir)))
    const entry = entryOf(dir)
    entries.delete(dir)
    entries.set(dir, entry)
    if (entry.watched) return
    for (const other of entries.values()) {
      if (count < MOST_WATCHED) break
      disarm(other)
    }
    arm(entry)
    void lookAt(entry)
  }

  const lookEverywhere = async () => {
    const dirs = lastUsedFirst(known())
    for (const dir of dirs.toReversed()) entryOf(dir)
    for (const dir of dirs) {
      if (phase === 'stopped') return
      const entry = entryOf(dir)
      // The watch first: what is changed after the look is told by it.
      if (count < MOST_WATCHED) arm(entry)
      await lookAt(entry)
    }
  }

  const sweep = async () => {
    sweeps++
    const dirs = new Set(known())
    for (const dir of dirs) entryOf(dir)
    for (const entry of [...entries.values()]) {
      if (phase === 'stopped') return
      if (!dirs.has(entry.dir)) {
        disarm(entry)
        entries.delete(entry.dir)
      }
      if (!dirs.has(entry.dir) || !isDue(entry, sweeps)) continue
      entry.watched?.refresh()
      if (count < MOST_WATCHED) arm(entry)
      await lookAt(entry)
    }
  }

  return {
    lookEverywhere,
    used,
    start: () => {
      phase = 'running'
      void track(lookEverywhere().catch(onError))
      sweeping = clock.every(SWEEP_MS, sweep, onError)
    },
    stop: async (signal) => {
      phase = 'stopped'
      sweeping?.stop()
      for (const { watched } of entries.values()) watched?.stop()
      await Promise.race([Promise.all(running), aborted(signal)])
    },
  }
}

/** Years leave many directories that are known and were never made: one glance is enough for these. */
function isDue({ dir, watched, state, behind, slot, gone }: Entry, sweeps: number): boolean {
  if (sweeps % SLOTS === slot || behind !== undefined) return true
  return (!watched || state.how === 'polling') && !(gone && !existsSync(dir))
}

/** Every change that is made whole replaces a file, which changes its folder. */
function lastUsedFirst(dirs: string[]): string[] {
  if (dirs.length <= MOST_WATCHED) return dirs
  const times = new Map(dirs.map((dir) => [dir, lastChangeMs(dir)]))
  return dirs.sort((a, b) => (times.get(b) ?? 0) - (times.get(a) ?? 0))
}

function lastChangeMs(dir: string): number {
  try {
    return statSync(dir).mtimeMs
  } catch {
    return 0
  }
}

function words(state: WatchState & { how: 'polling' }): string {
  return `polling: edits of memories by others are noticed within a minute, not at once; ${watchRemedy(state)}`
}

/** One memory directory that is watched: tells, once it is quiet again, in which memories something may have changed. */

export type WatchedDirectory = { refresh(): void; stop(): void }

type WatchedDirectoryDeps = {
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

export function watchDirectory({
  dir,
  isPlace,
  clock,
  watch,
  onChange,
  onState,
}: WatchedDirectoryDeps): WatchedDirectory {
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
