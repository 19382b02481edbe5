/**
 * Asks models in a thread of its own, as the main one sees it: to load the package, to write long prompts and to read
 * streams takes milliseconds, in which nobody would be answered. Begun with the first call, ended after a while without one.
 */
import type { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../platform/clock.ts'
import { beginThread, threadFile } from '../platform/process.ts'
import type { Sender } from './anthropic.ts'
import type { FromAsking, ToAsking } from './asking-messages.ts'
import { failure, type ModelAnswer, type ModelFailure } from './wire.ts'

type Deps = { clock: Pick<Clock, 'after'>; program?: URL }

export type AskingThread = { send: Sender; stop(): void }

/** People think between two turns; what the package holds in memory is held no longer. */
const IDLE_MS = 300_000

type Settle = (result: ModelAnswer | ModelFailure) => void

export function createAskingThread({
  clock,
  program = threadFile('./asking-thread.ts', import.meta.url),
}: Deps): AskingThread {
  const waiting = new Map<number, Settle>()
  let running: Worker | undefined
  let idle: Timer | undefined
  let asks = 0

  const settle = (ask: number, result: ModelAnswer | ModelFailure) => {
    waiting.get(ask)?.(result)
    waiting.delete(ask)
    if (waiting.size === 0 && running) idle = clock.after(IDLE_MS, end)
  }

  /** Nobody can tell what those cost that were under way. */
  const lost = (why: string) => {
    for (const ask of [...waiting.keys()]) settle(ask, failure('cut', why, {}))
  }

  const begin = (): Worker => {
    const worker = beginThread(program)
    let why = 'the thread that asks models ended by itself'
    worker.on('message', ({ ask, result }: FromAsking) => settle(ask, result))
    worker.once('error', ({ message }: Partial<Error>) => {
      if (message !== undefined) why = `the thread that asks models broke: ${message}`
    })
    worker.once('exit', () => {
      if (running !== worker) return
      running = undefined
      lost(why)
    })
    return worker
  }

  const end = () => {
    idle?.stop()
    const ending = running
    running = undefined
    void ending?.terminate()
  }

  return {
    send: (params, { access, idleMs, signal }) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve(failure('aborted', 'broken off before it was sent', { spent: 'nothing' }))
        idle?.stop()
        running ??= begin()
        const worker = running
        const ask = ++asks
        const post = (message: ToAsking) => worker.postMessage(message)
        const onAbort = () => post({ kind: 'abort', ask })
        signal.addEventListener('abort', onAbort, { once: true })
        waiting.set(ask, (result) => {
          signal.removeEventListener('abort', onAbort)
          resolve(result)
        })
        post({ kind: 'ask', ask, params, access, idleMs })
      }),
    stop: () => {
      end()
      lost('the daemon stops')
    },
  }
}
