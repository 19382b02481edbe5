import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Migration, migrate, openDatabase, schemaVersion } from '../../daemon/db/database.ts'
import { historyMigrations } from '../../daemon/db/history-schema.ts'
import { makeHome } from '../support/home.ts'

const steps: Migration[] = [
  (db) => db.exec('CREATE TABLE a (x) STRICT;'.replace('x', 'x TEXT')),
  (db) => db.exec("ALTER TABLE a ADD COLUMN y TEXT; INSERT INTO a VALUES ('1', '2')"),
]

function fresh() {
  const file = join(makeHome().dir, 'x.db')
  return { file, db: openDatabase(file) }
}

describe('migrations', () => {
  it('run all that are missing, once', () => {
    const { db, file } = fresh()
    const backups: number[] = []
    migrate(db, file, steps, (from) => backups.push(from))
    migrate(db, file, steps, (from) => backups.push(from))
    expect(db.prepare('SELECT * FROM a').all()).toEqual([{ x: '1', y: '2' }])
    expect([schemaVersion(db), backups]).toEqual([2, []])
  })

  it('back up a database that already holds something before they touch it', () => {
    const { db, file } = fresh()
    migrate(db, file, steps.slice(0, 1), () => {})
    const seen: unknown[] = []
    migrate(db, file, steps, (from) => seen.push({ from, tables: db.pragma('table_info(a)') }))
    expect(seen).toEqual([{ from: 1, tables: [expect.objectContaining({ name: 'x' })] }])
  })

  it('leave everything as it was when one of them fails', () => {
    const { db, file } = fresh()
    const broken = () => {
      throw new Error('cannot')
    }
    expect(() => migrate(db, file, [...steps, broken], () => {})).toThrow('cannot')
    expect(schemaVersion(db)).toBe(0)
    expect(db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()).toBe(0)
  })

  it('refuse a newer schema and leave it alone', () => {
    const { db, file } = fresh()
    db.pragma('user_version = 99')
    expect(() => migrate(db, file, historyMigrations, () => {})).toThrow(
      `${file} has schema 99, this version knows up to ${historyMigrations.length}`,
    )
    expect(schemaVersion(db)).toBe(99)
  })

  it('find both databases acknowledged with FULL and written ahead', () => {
    const { db } = fresh()
    expect([db.pragma('synchronous', { simple: true }), db.pragma('journal_mode', { simple: true })]).toEqual([
      2,
      'wal',
    ])
  })
})
