import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { remainingMs } from '../../daemon/platform/clock.ts'
import { manualTime } from '../support/clock.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const fail = (error: unknown) => {
  throw error
}

describe('timers', () => {
  it('run each time the interval has passed', () => {
    const time = manualTime()
    let runs = 0
    time.clock.every(HOUR, () => void runs++, fail)
    time.pass(HOUR - 1)
    expect(runs).toBe(0)
    time.pass(1)
    expect(runs).toBe(1)
    time.pass(3 * HOUR)
    expect(runs).toBe(4)
  })

  it('run once, not in a burst, after the machine slept through many intervals', () => {
    const time = manualTime()
    let runs = 0
    time.clock.every(HOUR, () => void runs++, fail)
    time.sleep(3 * DAY)
    time.pass(30_000)
    expect(runs).toBe(1)
    time.pass(HOUR)
    expect(runs).toBe(2)
  })

  it('go on when the wall clock is set back by a year', () => {
    const time = manualTime()
    let runs = 0
    time.clock.every(HOUR, () => void runs++, fail)
    time.jump(-365 * DAY)
    time.pass(HOUR)
    expect(runs).toBe(1)
  })

  it('run once when the wall clock is set forward by a year', () => {
    const time = manualTime()
    let runs = 0
    time.clock.every(HOUR, () => void runs++, fail)
    time.jump(365 * DAY)
    time.pass(30_000)
    expect(runs).toBe(1)
    time.pass(30_000)
    expect(runs).toBe(1)
  })

  it.each([
    [
      'throws',
      (error: Error) => {
        throw error
      },
    ],
    ['rejects', (error: Error) => Promise.reject(error)],
  ])('of one run: one that %s is told and run again until it goes well', async (_how, fail) => {
    const time = manualTime()
    const told: unknown[] = []
    let runs = 0
    time.clock.onFailure((error) => told.push(error))
    time.clock.after(HOUR, () => (++runs < 3 ? fail(new Error(`run ${runs}`)) : undefined))
    for (let n = 0; n < 4; n++) {
      time.pass(HOUR)
      await new Promise(setImmediate)
    }
    expect(runs).toBe(3)
    expect(told).toMatchObject([{ message: 'run 1' }, { message: 'run 2' }])
  })

  it('of one run: one that failed is not run again after it was stopped', () => {
    const time = manualTime()
    let runs = 0
    time.clock.onFailure(() => timer.stop())
    const timer = time.clock.after(HOUR, () => {
      runs++
      throw new Error('it fails')
    })
    time.pass(2 * HOUR)
    expect(runs).toBe(1)
  })

  it('do not run after they were stopped', () => {
    const time = manualTime()
    let runs = 0
    const timer = time.clock.every(HOUR, () => void runs++, fail)
    time.pass(HOUR)
    timer.stop()
    time.pass(5 * HOUR)
    expect(runs).toBe(1)
  })

  it('wait for a slow run before they count again, and go on after one that failed', async () => {
    const time = manualTime()
    let finish = (_: Promise<void>) => {}
    let runs = 0
    const errors: unknown[] = []
    time.clock.every(
      HOUR,
      () => {
        runs++
        return new Promise((resolve) => {
          finish = resolve
        })
      },
      (error) => errors.push(error),
    )
    time.pass(5 * HOUR)
    expect(runs).toBe(1)
    finish(Promise.reject(new Error('failed')))
    await new Promise(setImmediate)
    time.pass(HOUR)
    expect(runs).toBe(2)
    expect(errors).toEqual([new Error('failed')])
  })

  it('are due by whichever clock has seen more time pass', () => {
    const ms = fc.integer({ min: -DAY, max: DAY })
    fc.assert(
      fc.property(fc.nat(DAY), fc.nat(DAY), ms, (delay, monotonic, wall) => {
        const left = remainingMs(delay, { wall: 0, monotonic: 0 }, { wall, monotonic })
        expect(left <= 0).toBe(monotonic >= delay || wall >= delay)
      }),
    )
  })
})
