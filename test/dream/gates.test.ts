import { describe, expect, it } from 'vitest'
import { type Looks, type Trigger, walkGates } from '../../daemon/dream/gates.ts'

const NOW = Date.UTC(2026, 5, 1, 12)
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const limits = { minHours: 24, minSessions: 5, scanMinutes: 10 }

/** All gates open; `asked` tells which were looked at. */
function looks(over: Partial<{ [K in keyof Looks]: ReturnType<Looks[K]> }> = {}) {
  const asked: string[] = []
  const open = {
    enabled: { isOn: true, off: undefined, isRemote: false, isDailyLog: false },
    lastMs: NOW - 24 * HOUR_MS,
    countedMs: NOW - 10 * MINUTE_MS,
    failures: { times: 0, lastMs: 0 },
    sessionsSince: 5,
    holder: undefined,
    ...over,
  }
  const given = Object.fromEntries(
    Object.keys(open).map((name) => [
      name,
      () => {
        asked.push(name)
        return open[name as keyof typeof open]
      },
    ]),
  ) as unknown as Looks
  return { given, asked }
}

const walk = (over: Parameters<typeof looks>[0], trigger: Trigger = 'turn', goOn?: 'at-closed') => {
  const { given, asked } = looks(over)
  return { ...walkGates(given, { trigger, limits, nowMs: NOW, ...(goOn && { goOn }) }), asked }
}

describe('the gates of a dream', () => {
  it('are all open exactly at their limits', () => {
    expect(walk({})).toEqual({
      trigger: 'turn',
      gate: undefined,
      why: undefined,
      lastMs: NOW - 24 * HOUR_MS,
      gates: [
        { gate: 'enabled', facts: { dream: 'on', memory: 'on', remote: 'no', dailyLog: 'off' } },
        { gate: 'time', facts: { last: '2026-05-31T12:00:00.000Z', hours: 24, minHours: 24 } },
        { gate: 'throttle', facts: { minutes: 10, scanMinutes: 10 } },
        { gate: 'sessions', facts: { sessions: 5, minSessions: 5, since: '2026-05-31T12:00:00.000Z' } },
        { gate: 'lock', facts: { holder: 'nobody' } },
      ],
      asked: ['enabled', 'lastMs', 'countedMs', 'failures', 'sessionsSince', 'holder'],
    })
  })

  it.each([
    ['enabled', { enabled: { isOn: false, off: undefined, isRemote: false, isDailyLog: false } }, 1],
    ['enabled', { enabled: { isOn: true, off: 'paused', isRemote: false, isDailyLog: false } }, 1],
    ['enabled', { enabled: { isOn: true, off: undefined, isRemote: true, isDailyLog: false } }, 1],
    ['enabled', { enabled: { isOn: true, off: undefined, isRemote: false, isDailyLog: true } }, 1],
    ['time', { lastMs: NOW - 24 * HOUR_MS + 1 }, 2],
    ['throttle', { countedMs: NOW - 10 * MINUTE_MS + 1 }, 3],
    ['throttle', { failures: { times: 1, lastMs: NOW - HOUR_MS + 1 } }, 4],
    ['throttle', { failures: { times: 3, lastMs: NOW - 4 * HOUR_MS + 1 } }, 4],
    ['throttle', { failures: { times: 99, lastMs: NOW - 24 * HOUR_MS + 1 } }, 4],
    ['sessions', { sessionsSince: 4 }, 5],
    ['lock', { holder: { pid: 7, ageMs: 90_000 } }, 6],
  ] as const)('are closed just below: %s, and nothing behind it is looked at', (gate, over, asked) => {
    const verdict = walk(over)
    expect(verdict.gate).toBe(gate)
    expect(verdict.asked).toHaveLength(asked)
    expect(verdict.gates.at(-1)).toMatchObject({ gate, why: verdict.why })
  })

  it.each([
    [1, 1],
    [3, 4],
    [99, 24],
  ])('let another begin after %i failures %i hours later', (times, hours) => {
    expect(walk({ failures: { times, lastMs: NOW - hours * HOUR_MS } }).gate).toBeUndefined()
  })

  it('tell the numbers they went by', () => {
    expect(walk({ failures: { times: 2, lastMs: NOW - 30 * MINUTE_MS } })).toMatchObject({
      why: 'the last 2 dreams failed 30 minutes ago, and 120 must pass',
      gates: [{}, {}, { facts: { failures: 2, sinceMinutes: 30, waitMinutes: 120 } }],
    })
    expect(walk({ lastMs: NOW - 23.999 * HOUR_MS })).toMatchObject({
      why: 'the last one was 23.99 hours ago, and 24 must pass',
      gates: [{}, { facts: { hours: 23.99, minHours: 24 } }],
    })
    expect(walk({ holder: { pid: 7, ageMs: 90_000 } })).toMatchObject({
      why: 'process 7 holds the lock',
      gates: [{}, {}, {}, {}, { facts: { holder: 7, minutes: 1.5 } }],
    })
  })

  it('take a directory that was never consolidated as due, and a time that is yet to come as a mistake', () => {
    expect(walk({ lastMs: undefined }).gates[3]).toEqual({
      gate: 'sessions',
      facts: { sessions: 5, minSessions: 5, since: 'ever' },
    })
    expect(walk({ lastMs: NOW + 30 * 24 * HOUR_MS }).gate).toBeUndefined()
    expect(walk({ lastMs: NOW + HOUR_MS / 2 }).gate).toBe('time')
  })

  it.each(['person', 'nightly'] as const)('of time, throttle and sessions are skipped for %s', (trigger) => {
    const dailyLog = { isOn: true, off: undefined, isRemote: false, isDailyLog: true }
    const verdict = walk({ enabled: dailyLog, lastMs: NOW, countedMs: NOW, sessionsSince: 0 }, trigger)
    expect(verdict).toMatchObject({ gate: undefined, asked: ['enabled', 'holder'] })
    expect(walk({ holder: { pid: 7, ageMs: 0 } }, trigger).gate).toBe('lock')
    expect(walk({ enabled: { ...dailyLog, isOn: false } }, trigger).gate).toBe('enabled')
  })

  it('are all looked at for whoever wants to know', () => {
    const verdict = walk({ lastMs: NOW, sessionsSince: 1 }, 'asked', 'at-closed')
    expect(verdict.gates.map(({ gate, why }) => [gate, why !== undefined])).toEqual([
      ['enabled', false],
      ['time', true],
      ['throttle', false],
      ['sessions', true],
      ['lock', false],
    ])
    expect(verdict.gate).toBe('time')
  })
})
