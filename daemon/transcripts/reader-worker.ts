/** The thread that reads transcripts: what is due, batch by batch and fairly, on a connection of its own. */
import { getPriority, setPriority } from 'node:os'
import { setImmediate as immediate } from 'node:timers/promises'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openDatabase, prepareForBulk } from '../db/database.ts'
import { type Clock, createClock } from '../platform/clock.ts'
import { isDiskError } from '../platform/disk.ts'
import type { Source } from './formats/format.ts'
import { createIngest, type Ingest, type Prepared, type Progress } from './ingest.ts'
import { createMessageWords, type MessageWords } from './message-index.ts'
import { type PushedTurn, pushedLines } from './pushed.ts'
import { createTurnReader, type Turn } from './read-back.ts'
import { createTranscripts } from './transcript-table.ts'

export type WorkerData = { indexFile: string; backlogDays: number }
export type Lane = 'live' | 'backlog'
export type Question = { turns: readonly Source[] } | { lines: PushedTurn }
/** An error of SQLite would arrive in the other thread as `{}`. */
export type Failed = { message: string; code?: string; hint?: string | undefined }

/** `sequence` grows with each post; `idle` names the last one that is done. */
export type ToWorker =
  | { kind: 'read'; sequence: number; sources: Source[]; lane: Lane; privatePaths: readonly string[] }
  | { kind: 'ask'; sequence: number; question: Question }
  | { kind: 'end' }

export type FromWorker =
  | { kind: 'progress'; source: Source; progress: Progress }
  | { kind: 'failed'; source: Source; error: Failed }
  /** It has to be read from its beginning. */
  | { kind: 'again'; source: Source }
  | { kind: 'answer'; ask: number; answer: Turn[] | string[] | Failed }
  | { kind: 'idle'; sequence: number }
  | { kind: 'broken'; error: Failed }

type Tell = (news: FromWorker) => void
type Taken = Prepared & { source: Source; lane: Lane }

/** What a transcript with nothing new counts, so that a batch has at most a few hundred of them. */
const LEAST_BYTES = 4_000
/** Each batch leaves a segment in the full-text index; a gigabyte of transcripts is a thousand batches. */
const BATCHES_PER_MERGE = 64

/** Where cores are busy, the thread that answers hooks gets nine tenths of what both have. */
const NICER_BY = 10
const NICEST = 19

function work(port: MessagePort, { indexFile, backlogDays }: WorkerData): void {
  // Of this thread alone on Linux; of the whole process elsewhere.
  if (process.platform === 'linux') setPriority(Math.min(NICEST, getPriority() + NICER_BY))
  const db = openDatabase(indexFile)
  prepareForBulk(db)
  const clock = createClock()
  const words = createMessageWords(db)
  let privatePaths: readonly string[] = []
  const ingest = createIngest(clock, createTranscripts(db, words), { backlogDays, privatePaths: () => privatePaths })
  const turnsOf = createTurnReader(clock)
  const tell: Tell = (news) => port.postMessage(news)
  let sequence = 0
  let asking = 0
  const rest = () => {
    if (!loop.isWorking() && asking === 0) tell({ kind: 'idle', sequence })
  }
  const loop = createReadLoop(ingest, words, clock, tell, rest)

  const answer = async (ask: number, question: Question) => {
    asking++
    const asked = 'turns' in question ? turnsOf(question.turns) : pushedLines(question.lines)
    tell({ kind: 'answer', ask, answer: await asked.catch(failed) })
    asking--
    rest()
  }

  port.on('message', (message: ToWorker) => {
    if (message.kind === 'end') {
      loop.stop()
      // A batch under way fails on the closed database and is read again by the next thread: whole or not at all.
      db.close()
      return port.close()
    }
    sequence = message.sequence
    if (message.kind === 'ask') return void answer(sequence, message.question)
    privatePaths = message.privatePaths
    loop.add(message.sources, message.lane)
  })
}

export function createReadLoop(
  ingest: Ingest,
  words: Pick<MessageWords, 'merge'>,
  clock: Pick<Clock, 'elapsed' | 'worked'>,
  tell: Tell,
  onIdle: () => void,
) {
  const queues = createQueues()
  const batch = createBatchSize()
  let state: 'resting' | 'working' | 'stopped' = 'resting'
  let unmerged = 0
  const isStopped = () => state === 'stopped'
  const tellAgain = (sources: readonly Source[] = []) => {
    for (const source of sources) tell({ kind: 'again', source })
  }

  const gather = async (): Promise<Taken[]> => {
    const taken = new Map<string, Taken>()
    for (let bytes = 0; bytes < batch.bytes() && !isStopped(); ) {
      const next = queues.next()
      if (!next) break
      const { source } = next
      // One whose slice is not saved yet cannot be read on.
      if (taken.has(source.path)) {
        queues.add(next)
        break
      }
      try {
        const prepared = await ingest.read(source, { capBytes: batch.bytes() - bytes })
        taken.set(source.path, { ...prepared, ...next })
        tellAgain(prepared.again)
        bytes += prepared.bytes + LEAST_BYTES
      } catch (error) {
        tell({ kind: 'failed', source, error: failed(error) })
      }
    }
    return [...taken.values()]
  }

  const save = (taken: readonly Taken[]) => {
    try {
      const commit = ingest.ready(taken)
      const [startMs, startWorkedMs] = [clock.elapsed(), clock.worked()]
      const again = commit()
      const bytes = taken.reduce((sum, { bytes }) => sum + bytes, 0)
      batch.took(clock.elapsed() - startMs, clock.worked() - startWorkedMs, bytes)
      unmerged++
      tellAgain(again)
    } catch (error) {
      for (const { source } of taken) tell({ kind: 'failed', source, error: failed(error) })
      return
    }
    for (const { source, lane, progress } of taken) {
      if (progress.state === 'more') queues.add({ source, lane })
      tell({ kind: 'progress', source, progress })
    }
  }

  const merge = () => {
    try {
      if (words.merge() === 'done') unmerged = 0
    } catch (error) {
      // Nothing is lost: it is tried again after as many batches, and the next batch reports an error of the disk.
      unmerged = 0
      const isBusy = /^SQLITE_(?:BUSY|LOCKED)/.test(String((error as { code?: unknown }).code))
      if (!isDiskError(error) && !isBusy) throw error
    }
  }

  const run = async () => {
    if (state !== 'resting') return
    state = 'working'
    while (queues.size() > 0 || unmerged >= BATCHES_PER_MERGE) {
      if (queues.size() > 0) save(await gather())
      else merge()
      await immediate()
      if (isStopped()) return
    }
    state = 'resting'
    onIdle()
  }

  return {
    add: (sources: readonly Source[], lane: Lane) => {
      for (const source of sources) queues.add({ source, lane })
      void run()
    },
    isWorking: () => state !== 'resting',
    stop: () => {
      state = 'stopped'
    },
  }
}

type Queued = { source: Source; lane: Lane }

/** Both queues take turns; within each, the one that waits longest is next. A file is in one of them, once. */
export function createQueues() {
  const queues = { live: new Map<string, Queued>(), backlog: new Map<string, Queued>() }
  let last: Lane = 'backlog'
  const take = (lane: Lane): Queued | undefined => {
    const [first] = queues[lane].values()
    if (!first) return undefined
    queues[lane].delete(first.source.path)
    last = lane
    return first
  }
  return {
    add: (queued: Queued) => {
      const { lane, source } = queued
      if (queues.live.has(source.path)) return
      if (lane === 'live') queues.backlog.delete(source.path)
      if (!queues[lane].has(source.path)) queues[lane].set(source.path, queued)
    },
    next: () => (last === 'backlog' ? (take('live') ?? take('backlog')) : (take('backlog') ?? take('live'))),
    size: () => queues.live.size + queues.backlog.size,
  }
}

const SMALLEST_BATCH_BYTES = 64_000
const LARGEST_BATCH_BYTES = 1_024_000
const FIRST_BATCH_BYTES = 256_000
/** Another writer may wait 20 ms for the lock at most; the fewer transactions, the less each message costs. */
const BATCH_MS = 15
/** Up to this share of the time is put down to other load, which does not shrink with the batch. */
const OTHERS_SHARE = 3 / 4
/** For the same reason the fastest of the last batches counts. */
const LAST_BATCHES = 8

/** How much is read before it is written: as much as is written in `BATCH_MS`. */
export function createBatchSize() {
  const rates: number[] = []
  let size = FIRST_BATCH_BYTES
  return {
    bytes: () => size,
    took: (ms: number, workedMs: number, bytes: number) => {
      if (bytes < SMALLEST_BATCH_BYTES / 2) return
      rates.push(Math.max(Math.min(workedMs, ms), ms * (1 - OTHERS_SHARE)) / bytes)
      if (rates.length > LAST_BATCHES) rates.shift()
      const aim = BATCH_MS / Math.min(...rates)
      size = Math.round(Math.min(LARGEST_BATCH_BYTES, Math.max(SMALLEST_BATCH_BYTES, aim), size * 1.5))
    },
  }
}

function failed(error: unknown): Failed {
  const { message, code, hint } = error as NodeJS.ErrnoException & { hint?: string }
  return { message: String(message), hint, ...(code !== undefined && { code: String(code) }) }
}

if (parentPort && workerData?.indexFile) {
  const port = parentPort
  try {
    work(port, workerData as WorkerData)
  } catch (error) {
    port.postMessage({ kind: 'broken', error: failed(error) } satisfies FromWorker)
    port.close()
  }
}
