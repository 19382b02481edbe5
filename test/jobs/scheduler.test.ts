import { describe, expect, it } from 'vitest'
import { createJobClaims, createJobTable } from '../../daemon/jobs/job-table.ts'
import { createRunner } from '../../daemon/jobs/runner.ts'
import { createScheduler, createSchedules, dueState, type Planned, type Schedule } from '../../daemon/jobs/scheduler.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const T = Date.UTC(2026, 5, 1, 12)
const at = (ms: number) => new Date(ms).toISOString()

describe('a schedule', () => {
  const expression = '30 * * * *'
  const row: Planned = { name: 'hourly', expression, nextDueMs: T + 30 * MINUTE, plannedMs: T }
  it.each([
    ['was never planned', undefined, T, 'unplanned'],
    ['has time', row, T + 30 * MINUTE - 1, 'planned'],
    ['is due at its moment', row, T + 30 * MINUTE, { dueMs: T + 30 * MINUTE }],
    ['is due by the first moment of those that were missed', row, T + DAY, { dueMs: T + 30 * MINUTE }],
    ['has another expression', { ...row, expression: '45 * * * *' }, T + DAY, 'unplanned'],
    ['was planned before the clock was corrected', row, T - MINUTE, 'planned'],
    ['was planned before the clock was set back', row, T - MINUTE - 1, 'unplanned'],
  ] as const)('that %s', (_what, known, nowMs, expected) => {
    expect(dueState({ expression }, known, nowMs)).toEqual(expected)
  })
})

const hourly = (more: Partial<Schedule> = {}): Schedule => ({
  name: 'hourly',
  expression: '30 * * * *',
  due: (watermark) => ({ kind: 'plain', key: more.name ?? 'hourly', watermark, input: null }),
  ...more,
})

/** node-cron goes by the clock of the machine, so the test's begins there. `begin` is a start of the daemon; the rows stay. */
async function calendar(time = manualTime(Date.now())) {
  const { core } = await testCore({ time })
  const table = createJobTable(core.db.index)
  const rows = createSchedules(core.db.history)
  const models = createModels(core)
  const runner = createRunner(core, models, table, createJobClaims(core.db.index))
  core.lifecycle.add('models', models.stop)
  const begin = () => {
    const scheduler = createScheduler(core, runner)
    core.lifecycle.add('calendar', scheduler.stop)
    return scheduler
  }
  // They are never begun: a later one of the same schedule joins the one that waits.
  const dues = () => table.list({ limit: 99 }).jobs.map(({ key, watermark }) => `${key} ${watermark}`)
  const startMs = core.clock.now()
  /** As if planned an hour ago, and due half an hour ago. */
  const missed = (ms = startMs - 30 * MINUTE) =>
    rows.set({ name: 'hourly', expression: '30 * * * *', nextDueMs: ms, plannedMs: ms - 30 * MINUTE })
  return { core, time, rows, begin, dues, missed, startMs, runner }
}

describe('the calendar', () => {
  it('puts on record when a schedule is due next, and forgets one that is switched off', async () => {
    const { rows, begin, dues, startMs } = await calendar()
    const scheduler = begin()
    await scheduler.plan([hourly()])
    const row = rows.get('hourly')
    expect(row).toMatchObject({ name: 'hourly', expression: '30 * * * *', plannedMs: startMs })
    expect(new Date(row?.nextDueMs ?? 0).getMinutes()).toBe(30)
    await scheduler.plan([hourly({ expression: '45 * * * *' })])
    expect(rows.get('hourly')).toMatchObject({ expression: '45 * * * *' })
    expect(new Date(rows.get('hourly')?.nextDueMs ?? 0).getMinutes()).toBe(45)
    await scheduler.plan([])
    expect([rows.names(), dues()]).toEqual([[], []])
  })

  it('makes up at a start, once, for what was missed', async () => {
    const { rows, begin, dues, missed, startMs } = await calendar()
    missed(startMs - DAY)
    await begin().plan([hourly()])
    expect(dues()).toEqual([`hourly ${at(startMs - DAY)}`])
    const planned = rows.get('hourly')
    expect(planned?.nextDueMs).toBeGreaterThan(startMs)
    await begin().plan([hourly()])
    expect([dues().length, rows.get('hourly')]).toEqual([1, planned])
  })

  it.each([
    ['the machine slept', (time: ReturnType<typeof manualTime>) => time.sleep(DAY)],
    ['the clock was set forward', (time: ReturnType<typeof manualTime>) => time.jump(DAY)],
  ])('makes up once for a day that was missed because %s', async (_why, miss) => {
    const { core, time, rows, begin, dues } = await calendar()
    await begin().plan([hourly()])
    const { nextDueMs = 0 } = rows.get('hourly') ?? {}
    miss(time)
    const made = new Promise<void>((resolve) => core.events.subscribe(({ type }) => type === 'job' && resolve()))
    time.pass(30 * SECOND)
    await made
    expect(dues()).toEqual([`hourly ${at(nextDueMs)}`])
  })

  it('does what is due at every start once then, also where it was missed', async () => {
    const { begin, dues, missed, startMs } = await calendar()
    const always = hourly({ atStart: true })
    const scheduler = begin()
    await scheduler.plan([always])
    await scheduler.plan([always])
    expect(dues()).toEqual([`hourly ${at(startMs)}`])
    missed()
    await begin().plan([always])
    expect(dues()).toEqual([`hourly ${at(startMs - 30 * MINUTE)}`])
  })

  it('plans anew when the clock was set back, and repeats nothing', async () => {
    const { rows, begin, dues, startMs } = await calendar()
    const later = { nextDueMs: startMs + 2 * DAY, plannedMs: startMs + DAY }
    rows.set({ name: 'hourly', expression: '30 * * * *', ...later })
    await begin().plan([hourly()])
    expect([dues(), rows.get('hourly')?.plannedMs]).toEqual([[], startMs])
    expect(rows.get('hourly')?.nextDueMs).toBeLessThanOrEqual(startMs + HOUR + MINUTE)
  })

  it.each([
    ['61 * * * *', 'invalid'],
    ['0 0 30 2 *', 'impossible'],
  ])('tells of %s, and keeps no other from its time', async (expression, why) => {
    const { core, begin, dues, missed, rows } = await calendar()
    missed()
    await begin().plan([hourly({ name: 'wrong', expression }), hourly()])
    expect(core.health.failures()).toMatchObject([{ code: 'schedule', message: expect.stringContaining(why) }])
    expect([dues().length, rows.names()]).toEqual([1, ['hourly']])
  })

  it('enqueues at the moment itself, and not after it was stopped', async () => {
    const { core, rows, begin, dues } = await calendar({ ...manualTime(), clock: createClock() })
    const scheduler = begin()
    const fired = new Promise<void>((resolve) => core.events.subscribe(({ type }) => type === 'job' && resolve()))
    await scheduler.plan([hourly({ expression: '* * * * * *' })])
    const { nextDueMs = 0 } = rows.get('hourly') ?? {}
    await fired
    expect(dues()).toEqual([`hourly ${at(nextDueMs)}`])
    scheduler.stop()
    await scheduler.plan([hourly({ expression: '0 0 1 1 *' })])
    expect(rows.get('hourly')).toMatchObject({ expression: '* * * * * *' })
  })
})
