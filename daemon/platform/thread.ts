/** How every thread of the daemon begins. */
import { Worker } from 'node:worker_threads'
import { keepHeapSmall } from './heap.ts'

/** What a thread does leaves little that lives on: more room for what has died would only be held. */
const YOUNG_MB = 16

/** Names the file of a thread beside the module `base`. Built, all files stand in one folder and end in `.js`. */
export function threadFile(name: string, base: string): URL {
  return new URL(base.endsWith('.ts') ? name : name.replace(/\.ts$/, '.js'), base)
}

export function beginThread(program: URL, workerData?: unknown): Worker {
  const worker = new Worker(program, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  // What keeps the daemon alive is its socket.
  worker.unref()
  worker.once('online', keepHeapSmall)
  return worker
}
