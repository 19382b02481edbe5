/** Keeps the index of transcripts up to date: watch events and sweeps find what has changed, a thread reads it. */
import { type Stats, statSync } from 'node:fs'
import { AFTER_START_MS, type Core } from '../core.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Timer } from '../platform/clock.ts'
import { createWatch, type WatchFailure, watchRemedy } from '../platform/watch.ts'
import type { Projects } from '../projects/projects.ts'
import { adapterFor, MOST_DEPTH, mayHold, type Root, rootsIn, type Source, sourceOf } from './formats/format.ts'
import { createImportFolders, createImportJob, type Folder } from './import-folder.ts'
import { createTurnEnds, type EndedTurn } from './ingest.ts'
import { createPushedTurns } from './pushed.ts'
import { createReadQueue, createSweep, isExhausted } from './read-queue.ts'
import { lstat } from './tail.ts'
import { createTranscriptFiles } from './transcript-table.ts'

type RootState = Root & { state: 'watching' | 'polling' | 'missing' }
export type TranscriptReader = ReturnType<typeof createTranscriptReader>

/** A turn ends with several lines; an agent that writes without a pause must be heard as well. */
const QUIET_MS = 50
const LONGEST_MS = 300
/** Folders in which nothing has changed for 14 days are left to the sweep. */
const WATCHED_MS = 14 * 86_400_000
/** Older files are not watched one by one: an event of their folder tells of them. */
const WATCHED_FILE_MS = 3_600_000
/** Known files that a sweep checks for deletion, unless it is the first or a root cannot be watched. */
const MISSING_PER_SWEEP = 1_000
/** Low-priority jobs wait while more than this is unread: their transactions would block the reader's. */
const MUCH_UNREAD_BYTES = 500_000
const SWEEPS_PER_IMPORTED = 60
/** Other sweeps look only at folders that are not watched: events get lost, but rarely. */
const SWEEPS_PER_WHOLE = 10

export function createTranscriptReader(core: Core, projects: Projects, jobs: Jobs) {
  const { clock, settings, events, health, disk, db } = core
  const stopping = new AbortController()
  const queue = createReadQueue(core)
  const files = createTranscriptFiles(db.index)
  const sweep = createSweep(core, files, queue, stopping.signal)
  const folders = createImportFolders(core)
  const imports = createImportJob(core, folders, sweep, queue)
  const pushed = createPushedTurns(core, projects, jobs, folders, queue)
  const turnListeners: ((turn: EndedTurn) => void)[] = []
  const ends = createTurnEnds(clock, (turn) => {
    events.publish({ type: 'turn', ...turn })
    for (const listener of turnListeners) listener(turn)
  })
  const roots = () => rootsIn(settings.current().roots)

  /** Project folders that are not watched for their age, and those of them that are watched again. */
  const left = new Set<string>()
  const woken = new Set<string>()
  let hasBegun = false
  let isFirst = true
  let isWholeDue = true
  let sweeps = 0
  /** When a folder goes away as a whole, events do not name every file in it. */
  let folderChanged = false
  let timer: Timer | undefined
  let running: Promise<void> | undefined

  const failures: { watch?: WatchFailure | undefined; sweep?: WatchFailure | undefined } = {}
  const reportFailures = () => {
    const failure = failures.watch ?? failures.sweep
    if (!failure) return health.clear('transcripts')
    const late = 'polling: what is new in transcripts is noticed by the next sweep, not at once'
    health.raise('transcripts', `${late}; ${watchRemedy(failure)}`)
  }

  const isOld = ({ mtimeMs }: Stats, ms: number) => mtimeMs < clock.now() - ms

  const isIgnoredIn = (root: Root, name: string, stats: Stats | undefined): boolean => {
    if (!stats) return false
    if (!stats.isDirectory()) return sourceOf(root, name) === undefined || isOld(stats, WATCHED_FILE_MS)
    const { depth, ageingLevel } = adapterFor(root.harness)
    const level = name.split('/').length
    if (level > depth || !mayHold(root, name)) return true
    const path = `${root.path}/${name}`
    if (level < ageingLevel || !isOld(stats, WATCHED_MS) || woken.has(path)) return false
    left.add(path)
    return true
  }

  const watch = createWatch({
    clock,
    depth: MOST_DEPTH,
    quietMs: QUIET_MS,
    longestMs: LONGEST_MS,
    isIgnored: (path, stats) => {
      const above = roots().filter((root) => path.startsWith(`${root.path}/`))
      return above.length > 0 && above.every((root) => isIgnoredIn(root, path.slice(root.path.length + 1), stats))
    },
    onChange: (paths) => {
      for (const root of roots()) for (const path of paths) hint(root, path)
    },
    onFailure: (failure) => {
      failures.watch = failure
      reportFailures()
    },
  })

  const hint = (root: Root, path: string) => {
    if (path !== root.path && !path.startsWith(`${root.path}/`)) return
    const name = path.slice(root.path.length + 1)
    const source = name === '' ? undefined : sourceOf(root, name)
    if (source) return sweep.file(source, 'live')
    folderChanged = true
    if (name === '' || lstat(path)?.isDirectory()) void sweep.folder(root, name, 'live').catch(queue.reportError)
  }

  /** A session goes on in a folder that is not watched. */
  const wake = (source: Source) => {
    const above = [...left].filter((folder) => source.path.startsWith(`${folder}/`))
    const stats = above.length > 0 ? lstat(source.path) : undefined
    if (!stats || isOld(stats, WATCHED_MS)) return
    for (const folder of above) {
      left.delete(folder)
      woken.add(folder)
    }
    // Its watch begins anew, and a sweep finds what changed meanwhile.
    void watch.set(roots().flatMap(({ path }) => (path === source.root ? [] : [path])))
    void sweepAgain()
  }

  queue.onProgress((source, progress) => {
    if (!('lines' in progress) || progress.lines === 0) return
    ends.read(source.path, progress.ended)
    wake(source)
  })

  const leftIn = ({ path }: Root) =>
    [...left].flatMap((folder) => (folder.startsWith(`${path}/`) ? [folder.slice(path.length + 1)] : []))

  const states = (): RootState[] =>
    roots().map((root) => {
      const isWatched = hasBegun && watch.failureOf(root.path) === undefined
      return { ...root, state: !isFolder(root.path) ? 'missing' : isWatched ? 'watching' : 'polling' }
    })

  const sweepImported = async (folder: Folder) => {
    for await (const { path, isLink } of folders.files(folder.dir)) {
      if (stopping.signal.aborted) return
      const stats = isLink ? undefined : lstat(path)
      if (!stats) continue
      sweep.look(path, stats, 'backlog', () => folders.sourceAt(path, folder))
    }
  }

  const sweepAll = async () => {
    const hasFailed = failures.watch !== undefined
    // Watch before looking, so that no change falls between the two; what failed is tried again.
    await watch.set(roots().map(({ path }) => path))
    hasBegun = true
    const isPolling = hasFailed || states().some(({ state }) => state === 'polling')
    const isWhole = isWholeDue || isPolling || failures.sweep !== undefined || sweeps % SWEEPS_PER_WHOLE === 0
    const missing = isFirst || isPolling || folderChanged ? Number.POSITIVE_INFINITY : MISSING_PER_SWEEP
    const withImported = isFirst || sweeps % SWEEPS_PER_IMPORTED === 0
    isFirst = false
    isWholeDue = false
    folderChanged = false
    sweeps++
    for (const source of queue.failed()) sweep.file(source, 'backlog')
    if (isWhole) for (const root of [...roots(), pushed.root]) await sweep.folder(root, '', 'backlog')
    else for (const root of roots()) for (const name of leftIn(root)) await sweep.folder(root, name, 'backlog')
    if (withImported) for (const folder of folders.list()) await sweepImported(folder)
    await sweep.missing(missing)
  }
  const sweepAndReport = async () => {
    try {
      await sweepAll()
      failures.sweep = undefined
    } catch (error) {
      if (!isExhausted(error)) throw error
      failures.sweep = { code: error.code ?? '', path: error.path ?? '' }
    }
    reportFailures()
  }
  const sweepOnce = async () => {
    if (stopping.signal.aborted) return
    running ??= sweepAndReport().finally(() => {
      running = undefined
    })
    await running
  }
  /** Looks at everything. A sweep under way may have passed what has to be looked at. */
  const sweepAgain = async () => {
    await running?.catch(() => {})
    isWholeDue = true
    await sweepOnce().catch(queue.reportError)
  }
  const begin = () => {
    timer?.stop()
    timer = clock.every(settings.current().sweepSeconds * 1_000, sweepOnce, queue.reportError)
    void sweepAgain()
  }

  settings.onChange(() => {
    if (timer) begin()
  })
  disk.onRecovered(() => void sweepAgain())
  jobs.holdLowWhile(() => queue.lagBytes() > MUCH_UNREAD_BYTES)

  return {
    importJob: imports.kind,
    importFolder: async (dir: string, harness: string | undefined): Promise<string> =>
      jobs.enqueue(await imports.due(dir, harness)).id,
    keepTurn: pushed.keep,
    readTurn: pushed.read,
    readWritten: pushed.written,
    pushedDir: pushed.root.path,
    turnsOf: queue.turns,
    onTurnEnded: (listener: (turn: EndedTurn) => void) => void turnListeners.push(listener),
    roots: states,
    lagBytes: queue.lagBytes,
    skipped: files.skipped,
    indexReplaced: () => {
      queue.forget()
      isFirst = true
      void sweepAgain()
    },
    start: () => {
      timer = clock.after(AFTER_START_MS, begin)
    },
    stop: async (signal: AbortSignal) => {
      stopping.abort()
      timer?.stop()
      watch.stop()
      ends.stop()
      await running?.catch(() => {})
      await queue.stop(signal)
    },
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
