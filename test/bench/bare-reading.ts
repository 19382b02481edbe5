/**
 * The yardstick of reading: a script that reads whole files, parses their lines, and puts the same texts into a full-text
 * table as SQLite makes it by default, a thousand messages in a transaction. Knows no cursor, no session and no credential. Runs as a thread.
 */
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

export type BareOrder = { db: string; files: string[] }
export type BareDone = { textBytes: number; messages: number }

const HEAD_CHARS = 2_000
const MESSAGES_PER_TRANSACTION = 1_000

type Block = { type: string; text?: string; content?: string; input?: { command: string } }

function textOf(line: string): string {
  const { content } = JSON.parse(line).message as { content: string | Block[] }
  if (typeof content === 'string') return content
  const heads = content.map(
    ({ text, content, input }) => text ?? (content ?? input?.command ?? '').slice(0, HEAD_CHARS),
  )
  return heads.join('\n')
}

const { db: file, files } = workerData as BareOrder
const db = new Database(file)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.exec('CREATE VIRTUAL TABLE words USING fts5 (text)')
const insert = db.prepare('INSERT INTO words (text) VALUES (?)')
const insertAll = db.transaction((texts: readonly string[]) => {
  for (const text of texts) insert.run(text)
})
const done: BareDone = { textBytes: 0, messages: 0 }
let texts: string[] = []
for (const path of files) {
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue
    const text = textOf(line)
    done.textBytes += Buffer.byteLength(text)
    done.messages++
    texts.push(text)
    if (texts.length === MESSAGES_PER_TRANSACTION) {
      insertAll(texts)
      texts = []
    }
  }
}
insertAll(texts)
db.close()
parentPort?.postMessage(done)
