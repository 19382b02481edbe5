import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../daemon/db/database.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { indexMigrations } from '../../daemon/db/index-schema.ts'
import { migrate } from '../../daemon/db/migrate.ts'
import { prepareTerms } from '../../daemon/transcripts/terms.ts'
import { makeHome } from '../support/home.ts'

function rig() {
  const store = openDatabases(join(makeHome().dir, 'state'), 0)
  onTestFinished(() => store.close())
  return { db: store.index(), blocks: () => store.index().prepare('SELECT count(*) FROM term_blocks').pluck().get() }
}

it('terms are found by a part of them, each once', () => {
  const { db, blocks } = rig()
  const terms = prepareTerms(db)
  terms.add(['strawberry', 'blueberry', 'plum', 'strawberry'])
  const ask = () => [terms.termsWith('berr', 9).sort(), terms.termsWith('pl', 9), terms.termsWith('berr', 1).length]
  const found = [['blueberry', 'strawberry'], ['plum'], 1]
  expect(ask()).toEqual(found)
  terms.add(['strawberry', 'cherry'])
  terms.add([])
  expect([ask(), blocks()]).toEqual([found, 1])
  expect(terms.termsWith('err', 9).sort()).toEqual(['blueberry', 'cherry', 'strawberry'])
  // What is the end of one and the beginning of the next is no part of any.
  expect(terms.termsWith('ymp', 9)).toEqual([])
})

it('terms of many blocks are all found, whatever their letters', () => {
  const { db, blocks } = rig()
  const all = Array.from({ length: 30_000 }, (_, n) => `${(n * 7_919).toString(36)}é${n}字ß`)
  const terms = prepareTerms(db)
  for (let from = 0; from < all.length; from += 700) {
    prepareTerms(db).add(all.slice(from, from + 700))
    expect(terms.termsWith(all[from] as string, 9)).toEqual([all[from]])
  }
  expect(blocks()).toBeGreaterThan(5)
  for (const part of ['é29', '字ß', 'zé', '7é1', 'q', '0é0字'])
    expect(terms.termsWith(part, all.length).sort()).toEqual(all.filter((term) => term.includes(part)).sort())
})

it('terms that an older version has put down are found', () => {
  const file = join(makeHome().dir, 'index.db')
  const db = openDatabase(file)
  onTestFinished(() => void db.close())
  migrate(db, file, indexMigrations.slice(0, 2), () => {})
  db.exec(`INSERT INTO terms (term) VALUES ('strawberry'), ('plum'), ('cherry')`)
  migrate(db, file, indexMigrations, () => {})
  const terms = prepareTerms(db)
  terms.add(['blueberry'])
  expect(terms.termsWith('err', 9).sort()).toEqual(['blueberry', 'cherry', 'strawberry'])
})
