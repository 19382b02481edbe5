import { afterEach, expect, it, vi } from 'vitest'
import { localStamp } from '../../daemon/extraction/local-time.ts'

afterEach(() => vi.unstubAllEnvs())

it.each([
  ['UTC', '2026-11-16T23:30:00.000+00:00'],
  ['Asia/Shanghai', '2026-11-17T07:30:00.000+08:00'],
  ['America/St_Johns', '2026-11-16T20:00:00.000-03:30'],
])('is the day that a person in %s has', (zone, stamp) => {
  vi.stubEnv('TZ', zone)
  expect(localStamp(Date.UTC(2026, 10, 16, 23, 30))).toBe(stamp)
})

it('is the day where it was said, if that is known, wherever the machine stands', () => {
  vi.stubEnv('TZ', 'Pacific/Kiritimati')
  expect(localStamp(Date.UTC(2026, 10, 1, 10, 30), -660)).toBe('2026-10-31T23:30:00.000-11:00')
})
