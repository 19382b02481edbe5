/** Which transcripts have to be read, and the thread that reads them. The next sweep finds what is lost with the thread. */
import { type Dir, type Dirent, lstatSync, opendirSync, type Stats } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Timer } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { aborted, beginThread, threadFile } from '../platform/process.ts'
import { adapterFor, mayHold, type Root, type Source, sourceOf, type Unrecognised } from './formats/format.ts'
import type { Progress } from './ingest.ts'
import type { PushedTurn } from './pushed.ts'
import type { Turn } from './read-back.ts'
import type { Failed, FromWorker, Lane, Question, ToWorker, WorkerData } from './reader-worker.ts'
import { type Cursor, compare, lookOf, lstat } from './tail.ts'
import type { TranscriptFiles } from './transcript-table.ts'

export type Outcome = Exclude<Progress['state'], 'more'> | 'failed' | 'lost'

/** `stamp`: of the file as it is to be read; none while its times are too fresh to show the next change. */
type Due = { source: Source; unreadBytes: number; stamp: string | undefined; failed: boolean; readers: Reader[] }
type Reader = { onProgress: (progress: Progress) => void; resolve: (outcome: Outcome) => void }
type Running = { worker: Worker; exited: Promise<void> }
type Asked = { resolve: (answer: never) => void; reject: (error: Error) => void }

const IDLE_MS = 5_000
const MOST_POSTED = 400
const SETTLED_MS = 2_000

export type ReadQueue = ReturnType<typeof createReadQueue>

export function createReadQueue({ clock, settings, layout, disk, health, log }: Core) {
  const due = new Map<string, Due>()
  /** Of those that are due, what the thread was told of, and what has to wait for that. */
  const posted = new Set<string>()
  const held = new Map<string, Source>()
  const stamps = new Map<string, string>()
  const asked = new Map<number, Asked>()
  const progressListeners: ((source: Source, progress: Progress) => void)[] = []
  let running: Running | undefined
  let isStopped = false
  let sequence = 0
  let idle: Timer | undefined

  const reportError = (error: unknown) => {
    if (disk.blames(error)) return
    health.failed('transcripts', message(error))
    log.error({ err: error }, 'a transcript could not be read')
  }

  const guarded = (work: () => void) => {
    try {
      work()
    } catch (error) {
      reportError(error)
    }
  }

  /** What failed stays due, and is tried again by the next sweep. */
  const settle = (path: string, outcome: Outcome) => {
    const entry = due.get(path)
    if (!entry) return
    entry.failed = ['failed', 'lost', 'unreadable'].includes(outcome)
    if (!entry.failed) due.delete(path)
    for (const { resolve } of entry.readers.splice(0)) resolve(outcome)
    posted.delete(path)
    if (held.size > 0 && posted.size <= MOST_POSTED / 2)
      postSources([...held.values()].slice(0, MOST_POSTED - posted.size), 'backlog')
  }

  const answer = (ask: number, given: Turn[] | string[] | Failed) => {
    const { resolve, reject } = asked.get(ask) ?? {}
    asked.delete(ask)
    if (Array.isArray(given)) resolve?.(given as never)
    else reject?.(errorOf(given))
  }

  const hearProgress = (source: Source, progress: Progress) => {
    const entry = due.get(source.path)
    for (const { onProgress } of entry?.readers ?? []) guarded(() => onProgress(progress))
    for (const listener of progressListeners) guarded(() => listener(source, progress))
    if (progress.state === 'more') {
      if (entry) entry.unreadBytes = progress.unreadBytes
      return
    }
    // Low jobs wait for no file that may never be read.
    if (entry && progress.state === 'unreadable') entry.unreadBytes = 0
    else if (entry?.stamp !== undefined && progress.state !== 'gone') stamps.set(source.path, entry.stamp)
    settle(source.path, progress.state)
  }

  const hear = (news: Exclude<FromWorker, { kind: 'broken' }>) => {
    switch (news.kind) {
      case 'progress':
        return hearProgress(news.source, news.progress)
      case 'answer':
        return answer(news.ask, news.answer)
      case 'idle':
        // Otherwise it was given more to do since, and will be idle again.
        if (news.sequence === sequence) idle ??= clock.after(IDLE_MS, end)
        return
      case 'again':
        stamps.delete(news.source.path)
        return add(news.source, 'live', lstat(news.source.path))
      case 'failed':
        stamps.delete(news.source.path)
        settle(news.source.path, 'failed')
        return reportError(errorOf(news.error))
    }
  }

  const loseAll = (error: Failed) => {
    for (const ask of [...asked.keys()]) answer(ask, error)
    held.clear()
    posted.clear()
    for (const path of [...due.keys()]) settle(path, 'lost')
    stamps.clear()
  }

  const begin = (): Running => {
    const workerData: WorkerData = { indexFile: layout.index, backlogDays: settings.current().extraction.backlogDays }
    const worker = beginThread(threadFile('./reader-worker.ts', import.meta.url), workerData)
    const mine = { worker, exited: new Promise<void>((resolve) => worker.once('exit', () => resolve())) }
    let problem: Failed = { message: 'the thread that reads transcripts ended by itself' }
    worker.on('message', (news: FromWorker) => {
      if (news.kind === 'broken') problem = news.error
      // Late messages of a thread that was ended would be taken for those of the next one.
      else if (running === mine) guarded(() => hear(news))
    })
    // An error may lose its message on the way here.
    worker.once('error', ({ message }: Partial<Error>) => {
      if (message !== undefined) problem = { message }
    })
    worker.once('exit', () => {
      if (running !== mine) return
      running = undefined
      loseAll(problem)
      reportError(errorOf(problem))
    })
    return mine
  }

  const stopIdling = () => {
    idle?.stop()
    idle = undefined
  }

  const post = (messageOf: (sequence: number) => ToWorker) => {
    if (isStopped) return
    stopIdling()
    running ??= begin()
    running.worker.postMessage(messageOf(++sequence))
  }

  const end = () => {
    stopIdling()
    const ending = running
    running = undefined
    ending?.worker.postMessage({ kind: 'end' } satisfies ToWorker)
    return ending
  }

  const ask = <T>(question: Question) =>
    new Promise<T>((resolve, reject) => {
      if (isStopped) return reject(new Error('the daemon is stopping'))
      post((sequence) => {
        asked.set(sequence, { resolve: resolve as Asked['resolve'], reject })
        return { kind: 'ask', sequence, question }
      })
    })

  const postSources = (sources: Source[], lane: Lane) => {
    for (const { path } of sources) {
      held.delete(path)
      posted.add(path)
    }
    post((sequence) => ({ kind: 'read', sequence, sources, lane, privatePaths: settings.current().private }))
  }

  const put = (entry: Due, lane: Lane) => {
    const { source } = entry
    due.set(source.path, entry)
    if (lane === 'backlog' && posted.size >= MOST_POSTED && !posted.has(source.path)) held.set(source.path, source)
    else postSources([source], lane)
  }

  /** Without `stats` the file is gone, and the thread finds that out. */
  const add = (source: Source, lane: Lane, stats: Stats | undefined, unreadBytes = stats?.size ?? 0) => {
    const stamp = stats && stampOf(stats, clock.now())
    put({ source, unreadBytes, stamp, failed: false, readers: due.get(source.path)?.readers ?? [] }, lane)
  }

  return {
    add,
    /** Reads a file though it may not have changed; resolves when it is known what became of it. */
    read: (source: Source, lane: Lane, unreadBytes = 0, onProgress: Reader['onProgress'] = () => {}) =>
      new Promise<Outcome>((resolve) => {
        const entry = due.get(source.path) ?? { source, unreadBytes, stamp: undefined, failed: false, readers: [] }
        entry.readers.push({ onProgress, resolve })
        put(entry, lane)
      }),
    isUnchanged: (path: string, stats: Stats) => {
      const stamp = stampOf(stats, clock.now())
      return stamp !== undefined && stamps.get(path) === stamp
    },
    remember: (path: string, stats: Stats) => {
      const stamp = stampOf(stats, clock.now())
      if (stamp !== undefined) stamps.set(path, stamp)
      if (due.get(path)?.failed) due.delete(path)
    },
    failed: () => [...due.values()].filter(({ failed }) => failed).map(({ source }) => source),
    lagBytes: () => [...due.values()].reduce((bytes, { unreadBytes }) => bytes + unreadBytes, 0),
    onProgress: (listener: (source: Source, progress: Progress) => void) => void progressListeners.push(listener),
    reportError,
    turns: (sources: readonly Source[]) => ask<Turn[]>({ turns: sources }),
    lines: (pushed: PushedTurn) => ask<string[]>({ lines: pushed }),
    forget: () => {
      end()
      loseAll({ message: 'the index was replaced' })
      due.clear()
    },
    stop: async (signal: AbortSignal) => {
      const ending = end()
      isStopped = true
      if (!ending) return
      await Promise.race([ending.exited, aborted(signal)])
      await ending.worker.terminate()
    },
  }
}

function errorOf({ message, code, hint }: Failed): Error {
  if (code === 'DEGRADED') return new MemoryError(code, message, { hint })
  return Object.assign(new Error(message), code !== undefined && { code })
}

/** Joined: a string that V8 concatenates piece by piece takes three times the memory, and tens of thousands are kept. */
function stampOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats, nowMs: number): string | undefined {
  return ctimeMs + SETTLED_MS < nowMs ? [dev, ino, size, mtimeMs, ctimeMs].join(' ') : undefined
}

export type Sweep = ReturnType<typeof createSweep>

const PAGE = 200

/** Finds transcripts that have changed since they were read: sizes on disk are the truth, watch events only hints. */
export function createSweep({ clock }: Core, files: TranscriptFiles, queue: ReadQueue, signal: AbortSignal) {
  let lastId = 0

  /** Asks the index, once for each file after a start: from then on the queue remembers it. */
  const unreadOf = (path: string): { isRead: boolean; bytes?: number } => {
    const json = files.cursor(path)
    if (json === undefined) return { isRead: false }
    const cursor = JSON.parse(json) as Cursor
    try {
      const now = lookOf(lstatSync(path, { bigint: true }), clock.now())
      const known = compare(cursor, now)
      const bytes = known === 'other' ? now.sizeBytes : now.sizeBytes - cursor.scanned
      return { isRead: known === 'same' && bytes === 0, bytes }
    } catch {
      return { isRead: false }
    }
  }

  const look = (path: string, stats: Stats, lane: Lane, sourceAt: () => Source | Unrecognised) => {
    if (queue.isUnchanged(path, stats)) return
    const unread = unreadOf(path)
    const source = unread.isRead ? { left: 'read' } : sourceAt()
    if (!('left' in source)) queue.add(source, lane, stats, unread.bytes)
    else if (source.left !== 'unreadable') queue.remember(path, stats)
  }

  const file = (source: Source, lane: Lane) => {
    const stats = lstat(source.path)
    if (!stats) queue.add(source, lane, undefined)
    else if (stats.isFile()) look(source.path, stats, lane, () => source)
  }

  return {
    look,
    file,
    folder: async (root: Root, folder: string, lane: Lane) => {
      const isWanted = (name: string) => sourceOf(root, name) !== undefined
      const walk = { depth: adapterFor(root.harness).depth, isWanted, enters: (name: string) => mayHold(root, name) }
      for await (const { name, isLink } of walkNames(root.path, folder, walk)) {
        if (signal.aborted) return
        if (!isLink) file(sourceOf(root, name) as Source, lane)
      }
    },
    isRead: (path: string) => unreadOf(path).isRead,
    /** Looks for files that were read and are gone: so many of them, and the next ones the next time. */
    missing: async (most: number) => {
      for (let looked = 0; looked < most && !signal.aborted; looked += PAGE) {
        const page = files.present({ after: lastId, limit: PAGE })
        for (const { id: _, ...source } of page) if (!lstat(source.path)) queue.add(source, 'backlog', undefined)
        lastId = page.at(-1)?.id ?? 0
        if (page.length === 0) return
        await immediate()
      }
    },
  }
}

type Walk = { depth: number; isWanted: (name: string) => boolean; enters: (folder: string) => boolean }

/** Files and links below a folder of `base`. Passes over what cannot be listed, unless too many files are open. */
export async function* walkNames(base: string, folder: string, { depth, isWanted, enters }: Walk) {
  const folders = [folder]
  let looked = 0
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (!enters(next)) continue
    for (const entry of entriesOf(next === '' ? base : `${base}/${next}`)) {
      const name = next === '' ? entry.name : `${next}/${entry.name}`
      const isLink = entry.isSymbolicLink()
      if ((isLink || entry.isFile()) && isWanted(name)) yield { name, isLink }
      if (entry.isDirectory() && name.split('/').length <= depth) folders.push(name)
      if (++looked % PAGE === 0) await immediate()
    }
    await immediate()
  }
}

function* entriesOf(path: string): Generator<Dirent> {
  let dir: Dir | undefined
  try {
    dir = opendirSync(path, { bufferSize: PAGE })
    for (let entry = dir.readSync(); entry; entry = dir.readSync()) yield entry
  } catch (error) {
    if (isExhausted(error)) throw error
  } finally {
    dir?.closeSync()
  }
}

export function isExhausted(error: unknown): error is NodeJS.ErrnoException {
  return ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')
}
