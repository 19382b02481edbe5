/** The thread behind `checkInWorker`: one file in, its problems out. */
import { parentPort, workerData } from 'node:worker_threads'
import { openForReading, problemsOf } from './database.ts'

parentPort?.postMessage(problemsOf(workerData as string, openForReading))
