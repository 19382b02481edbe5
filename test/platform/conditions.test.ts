import { describe, expect, it } from 'vitest'
import { createConditions } from '../../daemon/platform/conditions.ts'
import { createDisk } from '../../daemon/platform/disk.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

describe('conditions', () => {
  it('announce each change once and remember since when', () => {
    const time = manualTime()
    let changes = 0
    const conditions = createConditions({ clock: time.clock, onChange: () => void changes++ })
    conditions.raise('disk', 'full')
    conditions.raise('disk', 'full')
    time.pass(1_000)
    conditions.raise('disk', 'fuller')
    expect(conditions.list()).toEqual([{ code: 'disk', message: 'fuller', since: '2026-01-01T00:00:00.000Z' }])
    conditions.clear('disk')
    conditions.clear('disk')
    expect(conditions.list()).toEqual([])
    expect(changes).toBe(3)
  })

  it('keep only the last failures, newest first', () => {
    const conditions = createConditions({ clock: manualTime().clock, onChange: () => {} })
    for (let n = 0; n < 50; n++) conditions.failed('x', String(n))
    expect(conditions.failures().map((failure) => failure.message)).toEqual(
      Array.from({ length: 20 }, (_, n) => String(49 - n)),
    )
  })
})

it('a disk that can be written again clears its condition by itself', () => {
  const { dir } = makeHome()
  const time = manualTime()
  const conditions = createConditions({ clock: time.clock, onChange: () => {} })
  let recovered = 0
  const disk = createDisk({ stateDir: dir, clock: time.clock, conditions, onRecovered: () => void recovered++ })
  expect(disk.blames(new Error('a bug'))).toBe(false)
  expect(disk.blames(Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' }))).toBe(true)
  expect(conditions.list()[0]?.message).toContain('ENOSPC')
  time.pass(60_000)
  expect(conditions.list()).toEqual([])
  expect(recovered).toBe(1)
})
