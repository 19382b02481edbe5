/** Random histories of transcripts, and a reader that is restarted and killed meanwhile: what it stored must be what the files say. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect, onTestFinished } from 'vitest'
import type { Cursor, Line } from '../../daemon/transcripts/tail.ts'
import { makeHome } from '../support/home.ts'
import { seeded } from '../support/seed.ts'
import { createFiles, type Files } from './tail-files.ts'
import { idOf, linesOf } from './tail-lines.ts'
import type { Order, Report } from './tail-reader.ts'

const STEPS = 40
const readerMain = fileURLToPath(new URL('./tail-reader.ts', import.meta.url))

export async function runSequences(count: number): Promise<void> {
  const random = seeded(`${count} histories of transcripts`)
  for (let n = 0; n < count; n++) {
    const done: string[] = []
    try {
      await runSequence(random, done)
    } catch (error) {
      throw new Error(`history ${n} after: ${done.join(', ')}\n${error instanceof Error ? error.message : error}`, {
        cause: error,
      })
    }
  }
}

async function runSequence(random: () => number, done: string[]): Promise<void> {
  const { dir } = makeHome()
  const folder = join(dir, 'sessions')
  mkdirSync(folder)
  const database = join(dir, 'rows.db')
  const capBytes = pick(random, [2_000, 20_000, 1_000_000])
  const files = createFiles({ folder, random })
  const everSaid = new Set<string>()
  let reader = startReader([folder, database, String(capBytes)])
  const restart = () => {
    reader = startReader([folder, database, String(capBytes)])
  }
  const acts: Record<string, () => Promise<unknown>> = {
    kill: async () => {
      await reader.ended()
      reader.order({})
      if (random() < 0.7) await reader.reported()
      await reader.kill()
      restart()
    },
    die: async () => {
      const moment = pick(random, ['before', 'within', 'after'] as const)
      reader.order({ die: { transaction: 1 + Math.floor(random() * 3), moment } })
      // It may have less to do than that, and lives on.
      if ((await reader.ended()) === 'dead') restart()
    },
    restart: async () => {
      await reader.stop()
      restart()
    },
    'begin to read': async () => reader.order({}),
    read: async () => {
      reader.order({})
      await reader.ended()
    },
    compare: async () => {
      reader.order({})
      await reader.ended()
      compare(database, files, everSaid)
    },
  }
  for (let step = 0; step < STEPS; step++) {
    const name = random() < 0.75 ? undefined : pick(random, Object.keys(acts))
    done.push(name ?? files.change())
    if (name) await acts[name]?.()
  }
  await acts.compare?.()
  await reader.stop()
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

function startReader(args: string[]) {
  const child: ChildProcess = spawn(process.execPath, [readerMain, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let ordered = 0
  let finished = 0
  const listeners = new Set<() => void>()
  child.on('message', (report: Report) => {
    if ('done' in report) finished = report.done
    for (const listener of listeners) listener()
  })
  /** Its next word, unless it is dead before. */
  const reported = () =>
    new Promise<'alive' | 'dead'>((resolve) => {
      const end = (state: 'alive' | 'dead') => {
        listeners.delete(hear)
        resolve(state)
      }
      const hear = () => end('alive')
      listeners.add(hear)
      void exited.then(() => end('dead'))
    })
  /** When all that was ordered is done. */
  const ended = async (): Promise<'alive' | 'dead'> => {
    while (finished < ordered) if ((await reported()) === 'dead') return 'dead'
    return 'alive'
  }
  return {
    order: (order: Omit<Order, 'read'>) => child.send({ ...order, read: ++ordered } satisfies Order),
    reported,
    ended,
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
    stop: async () => {
      await ended()
      child.disconnect()
      await exited
    },
  }
}

function compare(database: string, files: Files, everSaid: Set<string>): void {
  const db = new Database(database, { readonly: true })
  const messages = new Map(
    db
      .prepare<[], { id: string; seq: number }>('SELECT id, seq FROM messages')
      .all()
      .map(({ id, seq }) => [id, seq]),
  )
  for (const [name, content] of files.contents()) {
    const row = db.prepare<[string], { cursor: string }>('SELECT cursor FROM cursors WHERE name = ?').get(name)
    const { generation } = JSON.parse(row?.cursor ?? '{}') as Cursor
    const delivered = db
      .prepare<[string, number], Line>(
        'SELECT offset, length, text FROM deliveries WHERE name = ? AND generation = ? ORDER BY seq',
      )
      .all(name, generation)
    const expected = linesOf(content)
    expect(delivered.map(shown), name).toEqual(expected.map(shown))
    const ids = expected.map(({ text }) => idOf(text)).filter((id) => id !== undefined)
    for (const id of ids) everSaid.add(id)
    expect(
      ids.toSorted((a, b) => (messages.get(a) ?? -1) - (messages.get(b) ?? -1)),
      `order in ${name}`,
    ).toEqual(ids)
  }
  expect([...everSaid].filter((id) => !messages.has(id))).toEqual([])
  expect([...messages.keys()].filter((id) => !files.wasWritten(id))).toEqual([])
  const twice = 'SELECT name, generation, offset FROM deliveries GROUP BY 1, 2, 3 HAVING count(*) > 1'
  expect(db.prepare(twice).all()).toEqual([])
  db.close()
}

function shown({ offset, length, text }: Line): string {
  return `${offset}+${length} ${text.length > 60 ? `${text.slice(0, 30)}…${text.slice(-30)}` : text}`
}
