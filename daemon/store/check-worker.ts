/** The thread behind `checkInWorker`: one file in, its problems out. */
import { parentPort, workerData } from 'node:worker_threads'
import { isCorruption, openForReading } from './database.ts'
import { quickCheck } from './integrity.ts'

function problems(file: string): string[] {
  try {
    const db = openForReading(file)
    const found = quickCheck(db)
    db.close()
    return found
  } catch (error) {
    if (isCorruption(error)) return [(error as Error).message]
    throw error
  }
}

parentPort?.postMessage(problems(workerData as string))
