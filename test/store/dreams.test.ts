import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createDreams } from '../../daemon/store/dreams.ts'
import { openStore } from '../../daemon/store/store.ts'
import type { DreamOutcome } from '../../schema/dream.ts'
import { makeHome } from '../support/home.ts'

it('counts the dreams of a directory that failed since the last one that came to its end', () => {
  const state = join(makeHome().dir, 'state')
  mkdirSync(state)
  const store = openStore(state, 0)
  onTestFinished(() => store.close())
  const dreams = createDreams(store.history)
  const dream = (dir: string, outcome: DreamOutcome, endedMs: number) =>
    dreams.add({
      ...{ runId: `${dir} ${endedMs}`, dir, watermark: '', trigger: 'turn', beganMs: 0, why: undefined, facts: {} },
      ...{ outcome, endedMs },
    })
  expect(dreams.failures('/a')).toEqual({ times: 0, lastMs: 0 })
  dream('/a', 'failed', 1)
  dream('/b', 'failed', 2)
  dream('/a', 'nothing', 3)
  expect(dreams.failures('/a')).toEqual({ times: 0, lastMs: 0 })
  dream('/a', 'failed', 4)
  dream('/a', 'killed', 5)
  dream('/a', 'failed', 6)
  expect(dreams.failures('/a')).toEqual({ times: 2, lastMs: 6 })
})
