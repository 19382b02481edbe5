/** Runs SQLite's check in a thread of its own: over gigabytes it takes seconds, and nobody shall wait for it. */
import { beginThread, threadFile } from '../platform/process.ts'

/** Given up when the signal aborts, with nothing found. */
export function checkInWorker(file: string, signal: AbortSignal): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = beginThread(threadFile('./check-worker.ts', import.meta.url), file)
    worker.once('message', (problems: string[]) => resolve(problems))
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the database check ended without a result')))
    signal.addEventListener('abort', () => {
      resolve([])
      void worker.terminate()
    })
  })
}
