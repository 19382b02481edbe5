import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import type { Due } from '../../daemon/jobs/job.ts'
import { createScheduler, createSchedules, nextAfter, type Schedule } from '../../daemon/jobs/scheduler.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { settled } from '../support/jobs.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Local, as the calendar is. */
const NOON = new Date(2026, 5, 1, 12, 0, 0).getTime()
const at = (ms: number) => new Date(ms).toISOString()

/** Survives its schedulers, as the history does. */
function ground() {
  const time = manualTime(NOON)
  const store = openDatabases(join(makeHome().dir, 'state'), NOON)
  onTestFinished(() => store.close())
  const planned = createSchedules(store.history)
  const dues: string[] = []
  const errors: string[] = []
  const current: { schedules: Schedule[] } = { schedules: [] }
  const hourly = (expression = '30 * * * *'): Schedule => ({
    name: 'hourly',
    expression,
    due: (watermark): Due => ({ kind: 'plain', key: 'hourly', watermark, input: null }),
  })
  current.schedules = [hourly()]
  const begin = async () => {
    const scheduler = createScheduler({
      schedules: () => current.schedules,
      planned,
      enqueue: ({ key, watermark }) => dues.push(`${key} ${watermark}`),
      clock: time.clock,
      onError: (error) => errors.push((error as Error).message),
    })
    await scheduler.plan()
    return scheduler
  }
  /** node-cron is loaded and asked in between. */
  const later = async () => {
    for (let n = 0; n < 20; n++) await settled()
  }
  return { time, planned, dues, errors, current, hourly, begin, later }
}

describe('the calendar', () => {
  const local = (...parts: [number, number, number, number?, number?, number?]) => new Date(...parts).getTime()
  it.each([
    ['*/30 * * * *', local(2026, 5, 1, 12), local(2026, 5, 1, 12, 30)],
    ['0 3 * * *', local(2026, 5, 1, 3), local(2026, 5, 2, 3)],
    ['0 3 * * *', local(2026, 5, 1, 2, 59, 59), local(2026, 5, 1, 3)],
    ['*/10 * * * * *', local(2026, 5, 1, 12, 0, 55), local(2026, 5, 1, 12, 1, 0)],
    ['0 0 1 1 *', local(2026, 5, 1), local(2027, 0, 1)],
    ['0 0 29 2 *', local(2026, 5, 1), local(2028, 1, 29)],
    ['15 8 * * mon', local(2026, 5, 1, 9), local(2026, 5, 8, 8, 15)],
  ])('finds the next moment of %s', async (expression, after, expected) => {
    expect(at(await nextAfter(expression, after))).toBe(at(expected))
  })

  it('refuses what it does not understand, and what never comes', async () => {
    await expect(nextAfter('61 * * * *', NOON)).rejects.toThrow('61')
    await expect(nextAfter('0 0 30 2 *', NOON)).rejects.toThrow('30')
  })

  it('keeps to the wall clock where it changes: an hour that is left out is made up for, one that comes twice counts once', async () => {
    const before = process.env.TZ
    process.env.TZ = 'Europe/Berlin'
    try {
      const from = (day: string) => nextAfter('30 2 * * *', Date.parse(day))
      expect(at(await from('2026-03-29T00:00:00+01:00'))).toBe(at(Date.parse('2026-03-29T03:30:00+02:00')))
      const twice = await from('2026-10-25T00:00:00+02:00')
      expect(at(twice)).toBe(at(Date.parse('2026-10-25T02:30:00+02:00')))
      expect(at(await nextAfter('30 2 * * *', twice))).toBe(at(Date.parse('2026-10-26T02:30:00+01:00')))
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })
})

describe('a schedule', () => {
  it('becomes due at its moments, and when is on record', async () => {
    const { time, planned, dues, begin, later } = ground()
    await begin()
    expect([dues, planned.list()]).toEqual([
      [],
      [{ name: 'hourly', expression: '30 * * * *', nextDueMs: NOON + 30 * MINUTE, plannedMs: NOON }],
    ])
    time.pass(30 * MINUTE - 1)
    await later()
    expect(dues).toEqual([])
    time.pass(1)
    await later()
    time.pass(HOUR)
    await later()
    expect(dues).toEqual([`hourly ${at(NOON + 30 * MINUTE)}`, `hourly ${at(NOON + 90 * MINUTE)}`])
    expect(planned.list()).toMatchObject([{ nextDueMs: NOON + 150 * MINUTE }])
  })

  it.each([['the machine slept'], ['the daemon was away'], ['the clock was set forward']])(
    'makes up once for a day that %s through',
    async (how) => {
      const { time, dues, begin, later } = ground()
      const first = await begin()
      if (how === 'the daemon was away') first.stop()
      time.sleep(24 * HOUR)
      if (how === 'the daemon was away') await begin()
      else time.pass(30_000)
      await later()
      expect(dues).toEqual([`hourly ${at(NOON + 30 * MINUTE)}`])
      time.pass(30 * MINUTE)
      await later()
      expect(dues).toHaveLength(2)
    },
  )

  it('that was not missed is not due because of a start', async () => {
    const { time, dues, begin, later } = ground()
    const first = await begin()
    time.pass(30 * MINUTE)
    await later()
    first.stop()
    await begin()
    await later()
    expect(dues).toHaveLength(1)
  })

  it('that is due at every start is due once then, also where it was missed', async () => {
    const { time, dues, current, hourly, begin } = ground()
    current.schedules = [{ ...hourly(), atStart: true }]
    const first = await begin()
    expect(dues).toEqual([`hourly ${at(NOON)}`])
    await first.plan()
    first.stop()
    time.sleep(24 * HOUR)
    await begin()
    expect(dues).toEqual([`hourly ${at(NOON)}`, `hourly ${at(NOON + 30 * MINUTE)}`])
  })

  it('is planned anew when the clock is set back, and not repeated', async () => {
    const { time, planned, dues, begin, later } = ground()
    await begin()
    time.pass(30 * MINUTE)
    await later()
    time.jump(-24 * HOUR)
    time.pass(HOUR)
    await later()
    expect(dues).toHaveLength(1)
    expect(planned.list()).toMatchObject([{ nextDueMs: NOON - 24 * HOUR + 150 * MINUTE }])
    time.pass(HOUR)
    await later()
    expect(dues).toHaveLength(2)
  })

  it('is planned anew when the settings change, and forgotten when it is switched off', async () => {
    const { time, planned, dues, current, hourly, begin, later } = ground()
    const scheduler = await begin()
    current.schedules = [hourly('45 * * * *')]
    await scheduler.plan()
    expect(planned.list()).toMatchObject([{ expression: '45 * * * *', nextDueMs: NOON + 45 * MINUTE }])
    time.pass(44 * MINUTE)
    await later()
    expect(dues).toEqual([])
    time.pass(MINUTE)
    await later()
    expect(dues).toEqual([`hourly ${at(NOON + 45 * MINUTE)}`])
    current.schedules = []
    await scheduler.plan()
    expect(planned.list()).toEqual([])
    time.pass(24 * HOUR)
    await later()
    expect(dues).toHaveLength(1)
  })

  it('that nobody can understand is told, and keeps no other from its time', async () => {
    const { time, dues, errors, current, hourly, begin, later } = ground()
    current.schedules = [{ ...hourly('61 * * * *'), name: 'wrong' }, hourly()]
    await begin()
    expect(errors).toEqual([expect.stringContaining('61')])
    time.pass(30 * MINUTE)
    await later()
    expect(dues).toEqual([`hourly ${at(NOON + 30 * MINUTE)}`])
  })
})
