/** The thread behind `checkInWorker`: one file in, its problems out. */
import { parentPort, workerData } from 'node:worker_threads'
import { openForReading, problemsOf } from './database.ts'

const { file, held } = workerData as { file: string; held: number }
parentPort?.postMessage(problemsOf(file, openForReading, undefined, held))
