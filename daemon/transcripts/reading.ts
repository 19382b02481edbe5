/**
 * Keeps what is known of transcripts up to date: hints of watches and sweeps over all roots say what is due, a thread reads
 * it. Decides when; does not read.
 */
import type { Clock, Timer } from '../platform/clock.ts'
import { createTurnEnds, type EndedTurn } from './due.ts'
import { type Root, type Source, sourceOf } from './formats/formats.ts'
import type { Anywhere, Folder } from './import-folder.ts'
import type { Progress } from './ingest.ts'
import { createLag } from './lag.ts'
import type { Lane } from './lanes.ts'
import { createLooks, createSweep, type Found, type KnownRoots, type Look } from './sweep.ts'
import type { ReadingThread } from './thread.ts'
import type { Failed, FromThread } from './thread-messages.ts'
import type { TranscriptFiles } from './transcript-table.ts'
import type { RootState, WatchedRoots } from './watched-roots.ts'

type News = Extract<FromThread, { source: Source }>

type Deps = {
  roots: () => readonly Root[]
  sweepMs: () => number
  /** Where turns are kept that were pushed to us: nobody else writes there, so it is not watched. */
  own: Root
  /** Folders that were imported: looked through at a start and now and then, not watched. */
  imported: () => readonly Folder[]
  anywhere: Anywhere
  files: Pick<TranscriptFiles, 'cursor' | 'present'>
  clock: Clock
  thread: (hear: { onNews: (news: News) => void; onLost: (error: Failed) => void }) => ReadingThread
  watched: (onHint: (root: Root, names: ReadonlySet<string>) => void) => WatchedRoots
  onTurn: (turn: EndedTurn) => void
  onError: (error: unknown) => void
}

/** `lost`: with the thread or with its index; it is found again by a sweep. */
export type Outcome = Exclude<Progress['state'], 'more'> | 'failed' | 'lost'

export type Reading = {
  /** Soon, not at once: whoever starts the daemon waits for its first answer. */
  start(): void
  roots(): RootState[]
  /** Of what is known to be due, in the queue or not. */
  lagBytes(): number
  /** Other roots, or another time between sweeps. */
  settingsChanged(): void
  /** What could not be saved can be now. */
  diskRecovered(): void
  /** The rows are gone, and so is all that they told. */
  indexReplaced(): void
  thread: ReadingThread
  /** Somebody says that there is something new in a file; resolves when it is known what became of it. */
  changed(source: Source): Promise<Outcome>
  /** Whether all of a file was read, as far as can be told without reading it. */
  isRead(path: string): boolean
  /** Reads a file when it is its turn; resolves when it is known what became of it. Waits while much else is due. */
  read(source: Source, sizeBytes: number, onProgress: (progress: Progress) => void): Promise<{ over: Promise<Outcome> }>
  stop(signal: AbortSignal): Promise<void>
}

const START_MS = 300
/** A sweep goes on when there is room again: its findings are no longer than this. */
const MOST_DUE = 500
/** Where everything is watched, old files are looked at in one of so many: events may get lost, but not often. */
const SWEEPS_PER_WHOLE = 10
/**
 * What was deleted while nobody watched: the first sweep looks for all of it, as does one of a root that cannot be watched,
 * each other one for so many files in turn, which is never more than a moment of work.
 */
const MISSING_PER_SWEEP = 1_000
const SWEEPS_PER_IMPORTED = 60

type Waiting = { progress(progress: Progress): void; over(outcome: Outcome): void }
type Pending = { unreadBytes: number; look: Look | undefined; waiting: Waiting[] }

export function createReading(deps: Deps): Reading {
  const { roots, own, imported, sweepMs, files, anywhere, clock, onTurn, onError } = deps
  const stopping = new AbortController()
  const looks = createLooks()
  const lag = createLag()
  const known: KnownRoots = new Map()
  const due = new Map<string, Pending>()
  const ends = createTurnEnds({ clock, onTurn })
  let onRoom: (() => void)[] = []
  let sweeping: Timer | undefined
  let running: Promise<void> | undefined
  let sweeps = 0
  /** A folder that goes as a whole takes its files along, and nobody tells of them. */
  let folderChanged = false
  let fresh = true
  let sweptAt = 0

  const settle = (path: string, outcome: Outcome) => {
    const { waiting = [], unreadBytes = 0 } = due.get(path) ?? {}
    due.delete(path)
    if (outcome === 'failed' || outcome === 'lost') lag.owe(path, unreadBytes)
    else lag.drop(path)
    for (const { over } of waiting) over(outcome)
    if (due.size >= MOST_DUE / 2) return
    for (const go of onRoom.splice(0)) go()
  }

  const hear = (news: News) => {
    const { path } = news.source
    const pending = due.get(path)
    if (news.kind === 'again') {
      looks.forget(path)
      return live.file(news.source)
    }
    if (news.kind === 'failed') {
      // It may be one that was read and has to be again.
      looks.forget(path)
      settle(path, 'failed')
      return onError(Object.assign(new Error(news.error.message), news.error))
    }
    const { progress } = news
    if ('lines' in progress && progress.lines > 0) ends.read(path, progress.ended)
    for (const waiting of pending?.waiting ?? []) waiting.progress(progress)
    if (progress.state === 'more') {
      if (pending) pending.unreadBytes = progress.unreadBytes
      return
    }
    // What cannot be read is not tried again before it changes.
    if (pending?.look && progress.state !== 'gone') looks.remember(pending.look)
    settle(path, progress.state)
  }

  const lost = (error: Failed) => {
    for (const path of [...due.keys()]) settle(path, 'lost')
    looks.clear()
    onError(Object.assign(new Error(error.message), error))
  }

  const thread = deps.thread({ onNews: hear, onLost: lost })
  const found =
    (lane: Lane) =>
    ({ source, unreadBytes, look }: Found) => {
      lag.drop(source.path)
      due.set(source.path, { unreadBytes, look, waiting: due.get(source.path)?.waiting ?? [] })
      thread.read([{ ...source, lane }])
    }
  const room = () => {
    if (due.size < MOST_DUE || stopping.signal.aborted) return Promise.resolve()
    onFull()
    return new Promise<void>((resolve) => onRoom.push(resolve))
  }
  const sight = { files, looks, known, clock, anywhere, signal: stopping.signal }
  const live = createSweep({ ...sight, onFound: found('live'), room })
  const backlog = createSweep({ ...sight, onFound: found('backlog'), room })
  /** Goes ahead of a sweep that has to wait, and only counts. */
  const scout = createSweep({
    ...sight,
    onFound: ({ source: { path }, unreadBytes }) => {
      if (!due.has(path)) lag.owe(path, unreadBytes)
    },
    room: () => Promise.resolve(),
  })
  let onFull = () => {}

  const hint = (root: Root, names: ReadonlySet<string>) => {
    for (const name of names) {
      const source = name.endsWith('/') ? undefined : sourceOf(root, name)
      if (source) live.file(source)
      if (!name.endsWith('/')) continue
      folderChanged = true
      void live.folder(root, name.slice(0, -1)).catch(onError)
    }
  }
  const watched = deps.watched(hint)

  const lookAhead = async () => {
    for (const root of [...roots(), own]) await scout.folder(root, '')
  }
  const sweep = async () => {
    if (sweeps > 0) watched.refresh()
    const isFirst = fresh
    fresh = false
    // After a sleep nobody knows what happened.
    const isWhole = isFirst || sweeps % SWEEPS_PER_WHOLE === 0 || clock.now() - sweptAt > 2 * sweepMs()
    sweptAt = clock.now()
    const states = watched.states(roots())
    let scouting: Promise<void> | undefined
    if (isWhole) lag.begin()
    onFull = () => {
      if (isWhole) scouting ??= lookAhead().catch(onError)
    }
    const unwatched = new Set(states.flatMap(({ path, state }) => (state === 'watching' ? [] : [path])))
    for (const root of [...roots(), own]) {
      if (isWhole || unwatched.has(root.path)) await backlog.folder(root, '')
      else await backlog.lively(root)
    }
    if (isFirst || sweeps % SWEEPS_PER_IMPORTED === 0) for (const folder of imported()) await backlog.anywhere(folder)
    onFull = () => {}
    await scouting
    if (isWhole) lag.end()
    const lookAll = isFirst || folderChanged || states.some(({ state }) => state === 'polling')
    sweeps++
    folderChanged = false
    await backlog.missing(lookAll ? Number.POSITIVE_INFINITY : MISSING_PER_SWEEP)
  }
  const track = (): Promise<void> => {
    running ??= sweep().finally(() => {
      running = undefined
    })
    return running
  }
  /** A sweep that is under way has passed by files that were known when it saw them, or failed. */
  const sweepAfter = () => {
    const before = running?.catch(() => {}) ?? Promise.resolve()
    void before.then(track).catch(onError)
  }
  const again = () => {
    sweeping?.stop()
    sweeping = clock.every(sweepMs(), track, onError)
  }
  const begin = () => {
    // The watches first: what changes after a look is told by them.
    watched.set(roots())
    again()
    void track().catch(onError)
  }

  return {
    thread,
    start: () => {
      sweeping = clock.after(START_MS, begin)
    },
    roots: () => watched.states(roots()),
    lagBytes: () => [...due.values()].reduce((sum, { unreadBytes }) => sum + unreadBytes, lag.bytes()),
    settingsChanged: () => {
      sweeping?.stop()
      sweptAt = 0
      begin()
    },
    diskRecovered: () => {
      sweptAt = 0
      sweepAfter()
    },
    indexReplaced: () => {
      thread.end()
      for (const path of [...due.keys()]) settle(path, 'lost')
      looks.clear()
      lag.clear()
      fresh = true
      sweepAfter()
    },
    isRead: backlog.isRead,
    changed: (source) =>
      new Promise((over) => {
        const pending = due.get(source.path) ?? { unreadBytes: 0, look: undefined, waiting: [] }
        pending.waiting.push({ progress: () => {}, over })
        due.set(source.path, pending)
        thread.read([{ ...source, lane: 'live' }])
      }),
    read: async (source, sizeBytes, progress) => {
      await room()
      const pending = due.get(source.path) ?? { unreadBytes: sizeBytes, look: undefined, waiting: [] }
      due.set(source.path, pending)
      thread.read([{ ...source, lane: 'backlog' }])
      // Wrapped: whoever waits for room must not wait for the end of it as well.
      return { over: new Promise((over) => pending.waiting.push({ progress, over })) }
    },
    stop: async (signal) => {
      stopping.abort()
      sweeping?.stop()
      watched.stop()
      ends.stop()
      for (const go of onRoom) go()
      onRoom = []
      await running?.catch(() => {})
      await thread.stop(signal)
    },
  }
}
