/** The thread that asks models: sends, reads streams, and says what came of each. Runs when loaded. */
import { parentPort } from 'node:worker_threads'
import { createClock } from '../platform/clock.ts'
import { createSender } from './anthropic.ts'
import type { FromAsking, ToAsking } from './asking-messages.ts'

const port = parentPort
if (!port) throw new Error('asking-thread.js is not a program: the daemon starts it as a thread')

const send = createSender({ clock: createClock() })
const underWay = new Map<number, AbortController>()

port.on('message', (message: ToAsking) => {
  if (message.kind === 'abort') return underWay.get(message.ask)?.abort()
  const { ask, params, ...at } = message
  const abort = new AbortController()
  underWay.set(ask, abort)
  void send(params, { ...at, signal: abort.signal }).then((result) => {
    underWay.delete(ask)
    port.postMessage({ ask, result } satisfies FromAsking)
  })
})
