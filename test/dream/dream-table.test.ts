import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createDreams } from '../../daemon/dream/dream-table.ts'
import type { DreamFacts, DreamOutcome } from '../../schema/dream.ts'
import { makeHome } from '../support/home.ts'

function ground() {
  const state = join(makeHome().dir, 'state')
  mkdirSync(state)
  const store = openDatabases(state, 0)
  onTestFinished(() => store.close())
  const dreams = createDreams(store.history)
  const dream = (dir: string, outcome: DreamOutcome, endedMs: number, facts: Partial<DreamFacts> = {}) =>
    dreams.add({
      ...{ runId: `${dir} ${endedMs}`, dir, watermark: '', trigger: 'turn', beganMs: endedMs - 1, why: undefined },
      ...{ outcome, endedMs, facts },
    })
  return { dreams, dream }
}

const cost = (usd: number) => ({ spent: { calls: 1, input: 0, cacheRead: 0, cacheWrite: 0, output: 0, usd } })

it('counts the dreams of a directory that came to nothing since the last one that came to its end', () => {
  const { dreams, dream } = ground()
  expect(dreams.failures('/a', 0)).toEqual({ times: 0, lastMs: 0, usd: 0 })
  dream('/a', 'failed', 1, cost(4))
  dream('/b', 'failed', 2)
  dream('/a', 'nothing', 3)
  expect(dreams.failures('/a', 0)).toEqual({ times: 0, lastMs: 0, usd: 0 })
  dream('/a', 'failed', 4, cost(1))
  dream('/a', 'killed', 5, cost(0.5))
  dream('/a', 'failed', 6)
  expect(dreams.failures('/a', 0)).toEqual({ times: 3, lastMs: 6, usd: 1.5 })
  expect(dreams.failures('/a', 4)).toEqual({ times: 3, lastMs: 6, usd: 0.5 })
  // By a clock that was set right again: the last is the last.
  dream('/a', 'failed', 900)
  dream('/a', 'failed', 7)
  expect(dreams.failures('/a', 0)).toMatchObject({ times: 5, lastMs: 7 })
})

it('knows since when no model has read the logs, and goes on where one had too many of them', () => {
  const { dreams, dream } = ground()
  const at = (day: string) => Date.parse(day)
  expect(dreams.unreadSince('/a', undefined)).toBeUndefined()
  dream('/a', 'applied', at('2026-06-10'), { mode: 'model' })
  expect(dreams.unreadSince('/a', at('2026-06-10'))).toBe(at('2026-06-10'))
  dream('/a', 'applied', at('2026-06-11'), { mode: 'model', logsLeft: 7, logsTo: '2026-03-04' })
  dream('/a', 'failed', at('2026-06-12'), { mode: 'model' })
  dream('/a', 'nothing', at('2026-06-13'), { mode: 'rules' })
  expect(dreams.unreadSince('/a', at('2026-06-13'))).toBe(at('2026-03-06'))
  // Nor does another program that put it in order meanwhile change that.
  expect(dreams.unreadSince('/a', at('2026-06-14'))).toBe(at('2026-03-06'))
  dream('/a', 'applied', at('2026-06-15'), { mode: 'model' })
  expect(dreams.unreadSince('/a', at('2026-06-15'))).toBe(at('2026-06-15'))
})
