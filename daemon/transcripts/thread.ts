/**
 * The reading thread as the main one sees it: begun when something is due, ended when it has had nothing to do for a while.
 * Holds no truth: what is lost with the thread is found again by the next sweep.
 */
import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../platform/clock.ts'
import { aborted, beginThread } from '../platform/process.ts'
import type { Source } from './formats/formats.ts'
import type { Due } from './lanes.ts'
import type { Turn } from './live-chain.ts'
import type { PushedTurn } from './pushed-lines.ts'
import type { Failed, FromThread, ThreadData, ToThread } from './thread-messages.ts'

type Deps = {
  program: URL
  data: ThreadData
  clock: Clock
  privatePaths: () => readonly string[]
  onNews: (news: Extract<FromThread, { source: Source }>) => void
  /** It ended without being told to; nothing that was due is under way any more. */
  onLost: (error: Failed) => void
}

export type ReadingThread = {
  read(due: Due[]): void
  turns(sources: Source[]): Promise<Turn[]>
  lines(pushed: PushedTurn): Promise<string[]>
  /** Ends, and forgets what it knew of the index; whatever is asked of it next begins another. */
  end(): void
  stop(signal: AbortSignal): Promise<void>
}

const IDLE_MS = 5_000

type Running = { worker: Worker; exited: Promise<void>; post(message: ToThread): void }
type Asked = { resolve: (answer: never) => void; reject: (error: Error) => void }

export function createThread({ program, data, clock, privatePaths, onNews, onLost }: Deps): ReadingThread {
  const asked = new Map<number, Asked>()
  let running: Running | undefined
  let state: 'open' | 'stopped' = 'open'
  let said = 0
  let asks = 0
  let idle: Timer | undefined

  const hear = (message: Exclude<FromThread, { kind: 'broken' }>) => {
    if ('source' in message) return onNews(message)
    if (message.kind === 'turns' || message.kind === 'lines') return settle(message.ask, message.answer)
    // Something was said to it since: it will be idle again.
    if (message.turn === said) idle ??= clock.after(IDLE_MS, end)
  }

  const settle = (ask: number, answer: Turn[] | string[] | Failed) => {
    const { resolve, reject } = asked.get(ask) ?? {}
    asked.delete(ask)
    if (Array.isArray(answer)) resolve?.(answer as never)
    else reject?.(Object.assign(new Error(answer.message), answer.code !== undefined && { code: answer.code }))
  }

  const lost = (error: Failed) => {
    for (const ask of [...asked.keys()]) settle(ask, error)
    onLost(error)
  }

  const begin = (): Running => {
    const worker = beginThread(program, data)
    const mine: Running = {
      worker,
      exited: new Promise((resolve) => worker.once('exit', () => resolve())),
      post: (message) => worker.postMessage(message),
    }
    let trouble: Failed = { message: 'the thread that reads transcripts ended by itself' }
    // What was ended is of no concern any more: its news would be taken for those of the next.
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'broken') trouble = message.error
      else if (running === mine) hear(message)
    })
    // Whatever was thrown there may have lost its message on the way.
    worker.once('error', ({ message }: Partial<Error>) => {
      if (message !== undefined) trouble = { message }
    })
    worker.once('exit', () => {
      if (running !== mine) return
      running = undefined
      lost(trouble)
    })
    return mine
  }

  const end = () => {
    idle?.stop()
    idle = undefined
    const ending = running
    running = undefined
    ending?.post({ kind: 'end' })
    return ending
  }

  const say = (message: (turn: number) => ToThread) => {
    idle?.stop()
    idle = undefined
    running ??= begin()
    running.post(message(++said))
  }

  const put = <T>(question: (turn: number, ask: number) => ToThread) =>
    new Promise<T>((resolve, reject) => {
      if (state === 'stopped') return reject(new Error('the daemon is stopping'))
      const ask = ++asks
      asked.set(ask, { resolve: resolve as Asked['resolve'], reject })
      say((turn) => question(turn, ask))
    })

  return {
    read: (due) => {
      if (state === 'open' && due.length > 0) say((turn) => ({ kind: 'read', turn, due, privatePaths: privatePaths() }))
    },
    turns: (sources) => put((turn, ask) => ({ kind: 'turns', turn, ask, sources })),
    lines: (pushed) => put((turn, ask) => ({ kind: 'lines', turn, ask, pushed })),
    end: () => {
      const gone: Failed = { message: 'the thread that reads transcripts was ended' }
      for (const ask of [...asked.keys()]) settle(ask, gone)
      end()
    },
    stop: async (signal) => {
      state = 'stopped'
      const ending = end()
      if (!ending) return
      await Promise.race([ending.exited, aborted(signal)])
      await ending.worker.terminate()
    },
  }
}
