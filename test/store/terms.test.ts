import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../daemon/store/store.ts'
import { prepareTerms } from '../../daemon/store/terms.ts'
import { makeHome } from '../support/home.ts'

function rig() {
  const store = openStore(join(makeHome().dir, 'state'), 0)
  onTestFinished(() => store.close())
  const settleAll = (terms: ReturnType<typeof prepareTerms>) => {
    let left = terms.settle()
    for (let n = 0; left > 0 && n < 1_000; n++) left = terms.settle()
    return left
  }
  return { db: store.index(), settleAll, column: (sql: string) => store.index().prepare(sql).pluck().all() }
}

it('terms are found by a part of them before and after they are settled, each once', () => {
  const { db, settleAll, column } = rig()
  const terms = prepareTerms(db)
  terms.add(['strawberry', 'blueberry', 'plum', 'strawberry'])
  const ask = () => [terms.termsWith('berr', 9).sort(), terms.termsWith('pl', 9), terms.termsWith('berr', 1).length]
  const found = [['blueberry', 'strawberry'], ['plum'], 1]
  expect([ask(), terms.unsettled()]).toEqual([found, 4])
  expect([settleAll(terms), terms.unsettled(), ask()]).toEqual([0, 0, found])
  terms.add(['strawberry', 'cherry'])
  expect(ask()).toEqual(found)
  settleAll(terms)
  expect(column('SELECT term FROM terms ORDER BY term')).toEqual(['blueberry', 'cherry', 'plum', 'strawberry'])
  expect(terms.termsWith('err', 9).sort()).toEqual(['blueberry', 'cherry', 'strawberry'])
})

it('a settling that was cut short is done again by whoever comes next, and what came meanwhile waits', () => {
  const { db, settleAll, column } = rig()
  const all = Array.from({ length: 2_500 }, (_, n) => `term${n}`)
  const first = prepareTerms(db)
  first.add(all)
  expect(first.settle()).toBe(1_500)
  first.add(['later'])
  const second = prepareTerms(db)
  expect(second.unsettled()).toBe(2_501)
  expect(settleAll(second)).toBe(0)
  expect(column('SELECT count(*) FROM terms')).toEqual([2_501])
  expect(second.termsWith('late', 9)).toEqual(['later'])
})
