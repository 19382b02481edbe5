import { describe, expect, it } from 'vitest'
import { createDisk } from '../../daemon/platform/disk.ts'
import { createEvents } from '../../daemon/platform/events.ts'
import { createHealth } from '../../daemon/platform/health.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

describe('health', () => {
  it('announce each change once and remember since when', () => {
    const time = manualTime()
    let changes = 0
    const health = createHealth(time.clock, createEvents(time.clock))
    health.onChange(() => void changes++)
    health.raise('disk', 'full')
    health.raise('disk', 'full')
    time.pass(1_000)
    health.raise('disk', 'fuller')
    expect(health.list()).toEqual([{ code: 'disk', message: 'fuller', since: '2026-01-01T00:00:00.000Z' }])
    health.clear('disk')
    health.clear('disk')
    expect(health.list()).toEqual([])
    expect(changes).toBe(3)
  })

  it('keep only the last failures, newest first', () => {
    const health = createHealth(manualTime().clock, createEvents(manualTime().clock))
    for (let n = 0; n < 50; n++) health.failed('x', String(n))
    expect(health.failures().map((failure) => failure.message)).toEqual(
      Array.from({ length: 20 }, (_, n) => String(49 - n)),
    )
  })
})

it('a disk that can be written again clears its condition by itself', () => {
  const { dir } = makeHome()
  const time = manualTime()
  const health = createHealth(time.clock, createEvents(time.clock))
  let recovered = 0
  const disk = createDisk(dir, time.clock, health)
  disk.onRecovered(() => void recovered++)
  expect(disk.blames(new Error('a bug'))).toBe(false)
  expect(disk.blames(Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' }))).toBe(true)
  expect(health.list()[0]?.message).toContain('ENOSPC')
  time.pass(60_000)
  expect(health.list()).toEqual([])
  expect(recovered).toBe(1)
})
