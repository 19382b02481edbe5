/** How many transcripts an index knows, seen from outside while a daemon fills it. */
import Database from 'better-sqlite3'
import { storeLayout } from '../../daemon/db/database.ts'

export function countFiles(stateDir: string): number {
  const db = new Database(storeLayout(stateDir).index, { readonly: true })
  try {
    return db.prepare('SELECT count(*) FROM files').pluck().get() as number
  } finally {
    db.close()
  }
}
