/** Lets the daemon's own reading thread index made-up transcripts, without a daemon around it; and looks how far one is. */
import { mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { storeLayout } from '../../daemon/db/database.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import type { FromWorker, ToWorker, WorkerData } from '../../daemon/transcripts/reader-worker.ts'
import { findPlaces } from '../../schema/rendezvous.ts'
import type { Home } from './daemon.ts'
import { type Made, makeTranscripts } from './made-transcripts.ts'

const program = new URL('../../dist/reader-worker.js', import.meta.url)

export type Ground = Made & { root: string; cwd: string; paths: string[] }

/** In the place where the daemon of this home looks for them. */
export function makeGround(home: Home, order: { files: number; messagesPerFile: number; rareWords?: number }): Ground {
  const root = join(home.dir, '.claude/projects')
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd, { recursive: true })
  const made = makeTranscripts({ root, cwd, ...order })
  return { ...made, root, cwd, paths: Array.from({ length: order.files }, (_, n) => made.file(n)) }
}

/** An empty index as a daemon would begin it. */
export function prepareIndex(stateDir: string): string {
  mkdirSync(dirname(stateDir), { recursive: true })
  openDatabases(stateDir, 0).close()
  return storeLayout(stateDir).index
}

export function stateDirOf(home: Home): string {
  return findPlaces(home.env).stateDir
}

/** Until the thread has nothing left to do; in ms. */
export function indexApart(indexFile: string, { root, paths }: Pick<Ground, 'root' | 'paths'>): Promise<number> {
  const begunMs = performance.now()
  const data: WorkerData = { indexFile, backlogDays: 14 }
  const worker = new Worker(program, { workerData: data })
  const say = (message: ToWorker) => worker.postMessage(message)
  return new Promise((resolve, reject) => {
    let takenMs: number | undefined
    worker.once('error', reject)
    worker.once('exit', () => {
      if (takenMs === undefined) reject(new Error('the reading thread ended too early'))
      else resolve(takenMs)
    })
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'failed') reject(new Error(message.error.message))
      if (message.kind !== 'idle') return
      takenMs = performance.now() - begunMs
      say({ kind: 'end' })
    })
    const sources = paths.map((path) => ({ harness: 'claude-code', root, path }))
    say({ kind: 'read', sequence: 1, sources, lane: 'backlog', privatePaths: [] })
  })
}

export function sizeOf(file: string): number {
  return statSync(file).size
}
