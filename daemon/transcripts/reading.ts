/**
 * Keeps what is known of transcripts up to date: hints of watches and sweeps over all roots say what is due, a thread reads
 * it. Decides when; does not read.
 */
import type { Clock, Timer } from '../platform/clock.ts'
import type { TranscriptFiles } from '../store/transcript-files.ts'
import type { Lane } from './lanes.ts'
import { createLooks, type Look } from './looks.ts'
import { type Root, sourceOf } from './source.ts'
import { createSweep, type Found, type KnownRoots } from './sweep.ts'
import type { ReadingThread } from './thread.ts'
import type { Failed, FromThread } from './thread-messages.ts'
import type { EndedTurn } from './turn-ends.ts'
import { createTurnEnds } from './turn-ends.ts'
import type { RootState, WatchedRoots } from './watched-roots.ts'

type News = Extract<FromThread, { kind: 'progress' | 'failed' }>

type Deps = {
  roots: () => readonly Root[]
  sweepMs: () => number
  files: Pick<TranscriptFiles, 'cursor' | 'present'>
  clock: Clock
  thread: (hear: { onNews: (news: News) => void; onLost: (error: Failed) => void }) => ReadingThread
  watched: (onHint: (root: Root, names: ReadonlySet<string>) => void) => WatchedRoots
  onTurn: (turn: EndedTurn) => void
  onError: (error: unknown) => void
}

export type Reading = {
  /** Soon, not at once: whoever starts the daemon waits for its first answer. */
  start(): void
  roots(): RootState[]
  /** Of what is known to be due. */
  lagBytes(): number
  /** Other roots, or another time between sweeps. */
  settingsChanged(): void
  /** The rows are gone, and so is all that they told. */
  indexReplaced(): void
  thread: ReadingThread
  stop(signal: AbortSignal): Promise<void>
}

const START_MS = 300
/** A sweep goes on when there is room again: its findings are no longer than this. */
const MOST_DUE = 500
/** Where everything is watched, old files are looked at in one of so many: events may get lost, but not often. */
const SWEEPS_PER_WHOLE = 10
/** What was deleted while nobody watched is looked for in the first sweep, and then in one of so many. */
const SWEEPS_PER_MISSING = 60

type Pending = { unreadBytes: number; look: Look | undefined }

export function createReading(deps: Deps): Reading {
  const { roots, sweepMs, files, clock, onTurn, onError } = deps
  const stopping = new AbortController()
  const looks = createLooks()
  const known: KnownRoots = new Map()
  const due = new Map<string, Pending>()
  const ends = createTurnEnds({ clock, onTurn })
  let onRoom: (() => void)[] = []
  let sweeping: Timer | undefined
  let running: Promise<void> | undefined
  let sweeps = 0
  let sweptAt = 0

  const settle = (path: string) => {
    due.delete(path)
    if (due.size >= MOST_DUE / 2) return
    for (const go of onRoom.splice(0)) go()
  }

  const hear = (news: News) => {
    const { path } = news.source
    const pending = due.get(path)
    if (news.kind === 'failed') {
      settle(path)
      return onError(Object.assign(new Error(news.error.message), news.error))
    }
    const { progress } = news
    if ('lines' in progress && progress.lines > 0) ends.read(path, progress.ended)
    if (progress.state === 'more') {
      if (pending) pending.unreadBytes = progress.unreadBytes
      return
    }
    // What cannot be read is not tried again before it changes.
    if (pending?.look && progress.state !== 'gone') looks.remember(pending.look)
    settle(path)
  }

  const lost = (error: Failed) => {
    for (const path of [...due.keys()]) settle(path)
    onError(Object.assign(new Error(error.message), error))
  }

  const thread = deps.thread({ onNews: hear, onLost: lost })
  const found =
    (lane: Lane) =>
    ({ source, sizeBytes, look }: Found) => {
      due.set(source.path, { unreadBytes: sizeBytes, look })
      thread.read([{ ...source, lane }])
    }
  const room = () =>
    due.size < MOST_DUE || stopping.signal.aborted
      ? Promise.resolve()
      : new Promise<void>((resolve) => onRoom.push(resolve))
  const sweepOf = (lane: Lane) =>
    createSweep({ files, looks, known, clock, onFound: found(lane), room, signal: stopping.signal })
  const live = sweepOf('live')
  const backlog = sweepOf('backlog')

  const hint = (root: Root, names: ReadonlySet<string>) => {
    for (const name of names) {
      if (name.endsWith('/')) void live.folder(root, name.slice(0, -1)).catch(onError)
      const source = name.endsWith('/') ? undefined : sourceOf(root, name)
      if (source) live.file(source)
    }
  }
  const watched = deps.watched(hint)

  const sweep = async () => {
    if (sweeps > 0) watched.refresh()
    // After a sleep nobody knows what happened.
    const isWhole = sweeps % SWEEPS_PER_WHOLE === 0 || clock.now() - sweptAt > 2 * sweepMs()
    sweptAt = clock.now()
    for (const root of roots()) {
      const [now] = watched.states([root])
      if (now?.state === 'watching' && !isWhole) await backlog.lively(root)
      else await backlog.folder(root, '')
    }
    if (sweeps++ % SWEEPS_PER_MISSING === 0) await backlog.missing()
  }
  const track = (): Promise<void> => {
    running ??= sweep().finally(() => {
      running = undefined
    })
    return running
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
    lagBytes: () => [...due.values()].reduce((sum, { unreadBytes }) => sum + unreadBytes, 0),
    settingsChanged: () => {
      sweeping?.stop()
      sweptAt = 0
      begin()
    },
    indexReplaced: () => {
      thread.end()
      for (const path of [...due.keys()]) settle(path)
      looks.clear()
      sweptAt = 0
      void track().catch(onError)
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
