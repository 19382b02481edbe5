/**
 * Journals what other programs (an editor, a harness) change in memory directories; writes no memory. Each directory is looked
 * through at the start, soon after a change in it, and from time to time, as a watch can miss something.
 */
import { existsSync } from 'node:fs'
import { sep } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { AFTER_START_MS, type Core } from '../core.ts'
import type { Timer } from '../platform/clock.ts'
import { aborted } from '../platform/process.ts'
import { createWatch, watchRemedy } from '../platform/watch.ts'
import type { Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { explainDiskError, type MemoryFile, type MemoryFolder, openFolder } from './folder.ts'
import { isExact, type Journal, type NewChange } from './journal.ts'
import {
  DEPTH_FOLDERS,
  isMemoryFolder,
  isMemoryName,
  lastChangedFirst,
  markdownFiles,
  type Stamp,
  whereabouts,
} from './scan.ts'
import type { CredentialNames } from './write-checks.ts'
import type { Writer } from './writer.ts'

const BATCH_FILES = 20
/** An editor's save is over by then. */
const QUIET_MS = 200
const LONGEST_MS = 2_000
/** A directory that is not watched is looked through in every sweep, a watched one in one of twenty: every ten minutes. */
const SWEEP_MS = 30_000
const SLOTS = 20
export const MOST_WATCHED = 100

/** `failure`: of the last look; `isGone`: there was nothing to look at. */
type Entry = { slot: number; failure: string | undefined; isGone: boolean }

export type ExternalEdits = ReturnType<typeof createExternalEdits>

export function createExternalEdits(
  core: Core,
  projects: Projects,
  writer: Writer,
  journal: Journal,
  names: CredentialNames,
) {
  const { clock, health, logged } = core
  const onError = logged('a memory directory could not be looked through')
  const listeners: ((dir: string, files: string[]) => void)[] = []
  /** Stamps of files whose content the journal has. */
  const known = new Map<string, Map<string, string>>()
  /** In order of use, the last one last. */
  const entries = new Map<string, Entry>()
  let watched: readonly string[] = []
  const running = new Set<Promise<void>>()
  let phase: 'resting' | 'running' | 'stopped' = 'resting'
  let sweeping: Timer | undefined
  let sweeps = 0
  let made = 0

  /** Files that may differ from the journal, with the stamps that were taken before any of them was read. */
  const suspects = (dir: string): Map<string, Stamp | undefined> => {
    const stamps = markdownFiles(dir, clock.now())
    const before = known.get(dir) ?? new Map<string, string>()
    const same = [...before].filter(([file, value]) => stamps.get(file)?.value === value)
    known.set(dir, new Map(same))
    const files = new Map<string, Stamp | undefined>(stamps)
    // Also what is not listed: it may be gone, or be above the limit of the list.
    for (const file of journal.files(dir)) if (!files.has(file)) files.set(file, undefined)
    for (const [file] of same) files.delete(file)
    return files
  }

  const changeOf = async (dir: string, file: string, now: MemoryFile | undefined): Promise<NewChange | undefined> => {
    // Most files are as the journal has them: its texts are not read for these.
    if (journal.tip(dir, file)?.hash === now?.hash) return undefined
    const before = journal.latest(dir, file)?.after
    if (await names.has(file)) return undefined
    return {
      at: clock.now(),
      dir,
      file,
      op: !now ? 'delete' : before ? 'update' : 'create',
      actor: 'external',
      reason: before ? 'changed outside memoryd' : 'found',
      runId: undefined,
      before,
      after: now && { hash: now.hash, text: (await redact(now.text)).text },
      undoable: before !== undefined && isExact(before),
      evidence: [],
    }
  }

  const compareSome = async (dir: string, folder: MemoryFolder | undefined, files: [string, Stamp | undefined][]) => {
    const changes: NewChange[] = []
    const readable: [string, Stamp | undefined][] = []
    for (const [file, stamp] of files) {
      // A file that went may come back with the stamp it had.
      known.get(dir)?.delete(file)
      const present = folder && readIfSafe(folder, file)
      if (present === 'unreadable') continue
      readable.push([file, stamp])
      const change = await changeOf(dir, file, present)
      if (change) changes.push(change)
    }
    if (changes.length > 0) {
      journal.append(changes)
      journal.settle()
    }
    for (const [file, stamp] of readable) if (stamp?.settled) known.get(dir)?.set(file, stamp.value)
    return changes.map(({ file }) => file)
  }

  const compare = async (dir: string, folder: MemoryFolder | undefined, files: Map<string, Stamp | undefined>) => {
    const rest = [...files]
    const changed: string[] = []
    try {
      while (rest.length > 0) {
        changed.push(...(await compareSome(dir, folder, rest.splice(0, BATCH_FILES))))
        await turn()
      }
    } finally {
      if (changed.length > 0) for (const listener of listeners) listener(dir, changed)
    }
    return changed
  }

  /** Compares all of a directory with the journal, or these files; returns those that another program changed. */
  const look = (dir: string, files?: readonly string[]): Promise<string[]> =>
    writer.alone(dir, async () => {
      const where = whereabouts(dir)
      if (where === 'gone') return compare(dir, undefined, withoutStamps(journal.files(dir)))
      if (where === 'unknown' || !projects.isMemoryDir(dir)) return []
      let folder: MemoryFolder | undefined
      try {
        folder = openFolder(dir, { mayBeAt: projects.isMemoryDir })
        return await compare(dir, folder, files ? withoutStamps(files.filter(isMemoryName)) : suspects(dir))
      } catch (error) {
        throw explainDiskError(dir, error)
      } finally {
        folder?.close()
      }
    })

  const track = (work: Promise<void>): Promise<void> => {
    running.add(work)
    return work.finally(() => running.delete(work))
  }

  /** A failure that lasts is logged once; the next sweep looks again. */
  const lookAt = (dir: string, files?: readonly string[]): Promise<void> => {
    const entry = entryOf(dir)
    const isGone = !existsSync(dir)
    const looked = () => {
      if (files === undefined) Object.assign(entry, { failure: undefined, isGone })
    }
    const failed = (error: unknown) => {
      if (entry.failure !== String(error)) onError(error)
      entry.failure = String(error)
    }
    return track(look(dir, files).then(looked, failed))
  }

  const entryOf = (dir: string): Entry => {
    const entry = entries.get(dir) ?? { slot: made++ % SLOTS, failure: undefined, isGone: false }
    if (!entries.has(dir)) entries.set(dir, entry)
    return entry
  }

  const watch = createWatch({
    clock,
    depth: DEPTH_FOLDERS,
    quietMs: QUIET_MS,
    longestMs: LONGEST_MS,
    isIgnored: (path, stats) => {
      const dir = watched.find((each) => path.startsWith(each + sep))
      const name = dir === undefined ? '' : path.slice(dir.length + 1)
      return (
        name !== '' && (!isMemoryFolder(name) || (stats !== undefined && !stats.isDirectory() && !isMemoryName(name)))
      )
    },
    onChange: (paths) => {
      for (const dir of watched) {
        const changed = [...paths].filter((path) => path === dir || path.startsWith(dir + sep))
        if (changed.length === 0) continue
        const files = changed.map((path) => path.slice(dir.length + 1))
        // Anything may have changed with a folder.
        void lookAt(dir, files.every(isMemoryName) ? files : undefined)
      }
    },
    onFailure: (failure) => {
      if (!failure) return health.clear('watch')
      const polling = 'polling: edits of memories by others are noticed within a minute, not at once'
      health.raise('watch', `${polling}; ${watchRemedy(failure)}`)
    },
  })
  const rewatch = async (): Promise<void> => {
    if (phase !== 'running') return
    watched = [...entries.keys()].slice(-MOST_WATCHED).filter(projects.isMemoryDir)
    await watch.set(watched)
  }

  const onUse = (dir: string, seen: 'new' | 'known') => {
    if (phase === 'stopped') return
    if (phase === 'resting') return void (seen === 'new' && lookAt(dir))
    const isWatched = watched.includes(dir)
    const entry = entryOf(dir)
    entries.delete(dir)
    entries.set(dir, entry)
    if (!isWatched) void track(rewatch().then(() => lookAt(dir)))
  }
  projects.onUse(onUse)

  const lookEverywhere = async () => {
    const all = projects.directories.dirs()
    const dirs = all.length > MOST_WATCHED ? lastChangedFirst(all) : all
    for (const dir of dirs.toReversed()) entryOf(dir)
    // Watch before looking, so that no change falls between the two.
    await rewatch()
    for (const dir of dirs) {
      if (phase === 'stopped') return
      await lookAt(dir)
    }
  }

  const sweep = async () => {
    sweeps++
    const dirs = new Set(projects.directories.dirs())
    for (const dir of dirs) entryOf(dir)
    for (const dir of entries.keys()) if (!dirs.has(dir)) entries.delete(dir)
    const watchedBefore = new Set(watched.filter((dir) => watch.failureOf(dir) === undefined))
    await rewatch()
    for (const [dir, entry] of [...entries]) {
      if (phase === 'stopped') return
      if (isDue(dir, entry, watchedBefore.has(dir))) await lookAt(dir)
    }
  }
  const isDue = (dir: string, { slot, failure, isGone }: Entry, isWatched: boolean): boolean => {
    if (sweeps % SLOTS === slot || failure !== undefined) return true
    // Years leave many directories that are known and were never made.
    return !isWatched && !(isGone && !existsSync(dir))
  }

  return {
    look,
    lookEverywhere,
    start: () => {
      sweeping = clock.after(AFTER_START_MS, () => {
        phase = 'running'
        sweeping = clock.every(SWEEP_MS, sweep, onError)
        void track(lookEverywhere().catch(onError))
      })
    },
    stop: async (signal: AbortSignal) => {
      phase = 'stopped'
      sweeping?.stop()
      watch.stop()
      await Promise.race([Promise.all(running), aborted(signal)])
    },
    onChange: (listener: (dir: string, files: string[]) => void) => void listeners.push(listener),
  }
}

function withoutStamps(files: readonly string[]): Map<string, undefined> {
  return new Map(files.map((file) => [file, undefined]))
}

/** A file that cannot be read safely is no memory, and not gone either. */
function readIfSafe(folder: MemoryFolder, file: string): MemoryFile | undefined | 'unreadable' {
  try {
    return folder.read(file)
  } catch {
    return 'unreadable'
  }
}
