/**
 * A process that follows every transcript of a folder the way the daemon does: read a slice, then commit its lines and the
 * cursor together. Run as `tail-reader.js <folder> <database> <capBytes>`; it is told what to do over IPC.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../daemon/db/database.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { type Cursor, createTail } from '../../daemon/transcripts/tail.ts'
import { idOf } from './tail-lines.ts'

/** Reads until a whole round finds nothing new. `die`: by kill -9, at that moment of the transaction with that number. */
export type Order = { read: number; die?: { transaction: number; moment: 'before' | 'within' | 'after' } }
export type Report = { committed: number } | { done: number }

const [folder, database, capBytes] = process.argv.slice(2) as [string, string, string]
const tail = createTail(createClock())
const db = openDatabase(database)
db.exec(`
  CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, cursor TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS deliveries (
    seq INTEGER PRIMARY KEY, name TEXT, generation INTEGER, offset INTEGER, length INTEGER, text TEXT);
  CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, seq INTEGER NOT NULL);
`)
const cursorOf = db.prepare<[string], { cursor: string }>('SELECT cursor FROM cursors WHERE name = ?')
const saveCursor = db.prepare(
  'INSERT INTO cursors VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor',
)
const addDelivery = db.prepare('INSERT INTO deliveries (name, generation, offset, length, text) VALUES (?, ?, ?, ?, ?)')
const addMessage = db.prepare('INSERT OR IGNORE INTO messages VALUES (?, ?)')

let transactions = 0

function readOnce(name: string, order: Order): 'busy' | 'quiet' {
  const row = cursorOf.get(name)
  const cursor = row && (JSON.parse(row.cursor) as Cursor)
  const slice = tail.readSlice(join(folder, name), cursor, { capBytes: Number(capBytes) })
  if (!('cursor' in slice) || slice.changed === 'none') return 'quiet'
  transactions++
  const dieIf = (moment: string) => {
    if (order.die?.transaction === transactions && order.die.moment === moment) process.kill(process.pid, 'SIGKILL')
  }
  dieIf('before')
  db.transaction(() => {
    for (const { offset, length, text } of slice.lines) {
      const { lastInsertRowid } = addDelivery.run(name, slice.cursor.generation, offset, length, text)
      const id = idOf(text)
      if (id !== undefined) addMessage.run(id, lastInsertRowid)
    }
    dieIf('within')
    saveCursor.run(name, JSON.stringify(slice.cursor))
  })()
  dieIf('after')
  process.send?.({ committed: transactions } satisfies Report)
  return 'busy'
}

process.on('message', (order: Order) => {
  let state: 'busy' | 'quiet'
  transactions = 0
  do {
    const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    state = names.map((name) => readOnce(name, order)).includes('busy') ? 'busy' : 'quiet'
  } while (state === 'busy')
  process.send?.({ done: order.read } satisfies Report)
})
process.once('disconnect', () => db.close())
