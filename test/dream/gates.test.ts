import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Looks, type Trigger, walkGates } from '../../daemon/dream/gates.ts'
import { makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'

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
    failures: { times: 0, lastMs: 0, usd: 0 },
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
        { gate: 'lock', facts: { holder: 'none' } },
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
    ['throttle', { failures: { times: 1, lastMs: NOW - HOUR_MS + 1, usd: 0 } }, 4],
    ['throttle', { failures: { times: 3, lastMs: NOW - 4 * HOUR_MS + 1, usd: 0.24 } }, 4],
    ['throttle', { failures: { times: 1, lastMs: NOW - 24 * HOUR_MS + 1, usd: 0.25 } }, 4],
    ['throttle', { failures: { times: 99, lastMs: NOW - 24 * HOUR_MS + 1, usd: 0 } }, 4],
    ['sessions', { sessionsSince: 4 }, 5],
    ['lock', { holder: { pid: 7, ageMs: 90_000 } }, 6],
  ] as const)('are closed just below: %s, and nothing behind it is looked at', (gate, over, asked) => {
    const verdict = walk(over)
    expect(verdict.gate).toBe(gate)
    expect(verdict.asked).toHaveLength(asked)
    expect(verdict.gates.at(-1)).toMatchObject({ gate, why: verdict.why })
  })

  it.each([
    [1, 0.24, 1],
    [3, 0.24, 4],
    [1, 0.51, 24],
    [99, 0, 24],
  ])('let another begin after %i failures for $%d %i hours later', (times, usd, hours) => {
    expect(walk({ failures: { times, lastMs: NOW - hours * HOUR_MS, usd } }).gate).toBeUndefined()
  })

  it('let failures cost no more within a day than one of them may, and somewhat', () => {
    const failed: { atMs: number; usd: number }[] = []
    for (let nowMs = NOW; nowMs < NOW + 7 * 24 * HOUR_MS; nowMs += 10 * MINUTE_MS) {
      const recent = failed.filter(({ atMs }) => atMs > nowMs - 24 * HOUR_MS)
      const usd = recent.reduce((sum, each) => sum + each.usd, 0)
      expect(usd).toBeLessThan(0.25 + 0.51)
      const { given } = looks({
        lastMs: undefined,
        countedMs: undefined,
        failures: { times: failed.length, lastMs: failed.at(-1)?.atMs ?? 0, usd },
      })
      // Cheap ones first, then such as end at their limit.
      if (walkGates(given, { trigger: 'turn', limits, nowMs }).gate === undefined)
        failed.push({ atMs: nowMs, usd: failed.length < 2 ? 0.1 : 0.51 })
    }
    expect(failed.length).toBeGreaterThan(7)
  })

  it('tell the numbers they went by', () => {
    expect(walk({ failures: { times: 2, lastMs: NOW - 30 * MINUTE_MS, usd: 0 } })).toMatchObject({
      why: 'the last 2 dreams failed or were stopped 30 minutes ago, and 120 must pass',
      gates: [{}, {}, { facts: { failures: 2, failedUsd: 0, sinceMinutes: 30, waitMinutes: 120 } }],
    })
    // The answer names the longer wait, though sessions were counted just now.
    const failures = { times: 1, lastMs: NOW - 30 * MINUTE_MS, usd: 0.5 }
    expect(walk({ countedMs: NOW, failures }, 'asked', 'at-closed')).toMatchObject({
      why: 'the last dream failed or was stopped 30 minutes ago, for $0.5000 within a day, and 1440 must pass',
      gates: [{}, {}, { facts: { minutes: 0, failures: 1, failedUsd: 0.5, waitMinutes: 1440 } }, {}, {}],
    })
    expect(walk({ countedMs: NOW, failures }).why).toBe('sessions were counted 0 minutes ago')
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
    // Nothing was said after it either: everything counts.
    const asked: number[] = []
    const { given } = looks({ lastMs: NOW + 30 * 24 * HOUR_MS })
    const sessionsSince = (sinceMs: number) => asked.push(sinceMs) * 5
    const verdict = walkGates({ ...given, sessionsSince }, { trigger: 'turn', limits, nowMs: NOW })
    expect(verdict).toMatchObject({ gate: undefined, gates: [{}, {}, {}, { facts: { since: 'ever' } }, {}] })
    expect(asked).toEqual([0])
    expect(walk({ lastMs: NOW + HOUR_MS / 2 }).gate).toBe('time')
  })

  it.each(['person', 'nightly'] as const)('of time, throttle and sessions are skipped for %s', (trigger) => {
    const dailyLog = { isOn: true, off: undefined, isRemote: false, isDailyLog: true }
    const verdict = walk({ enabled: dailyLog, lastMs: NOW, countedMs: NOW, sessionsSince: 0 }, trigger)
    expect(verdict).toMatchObject({ gate: undefined, asked: ['enabled', 'holder'] })
    expect(walk({ holder: { pid: 7, ageMs: 0 } }, trigger).gate).toBe('lock')
    expect(walk({ enabled: { ...dailyLog, isOn: false } }, trigger).gate).toBe('enabled')
  })

  it('are all evaluated for a caller that asks for the verdict', () => {
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

const program = fileURLToPath(new URL('../support/turn-end-program.ts', import.meta.url))
const TURNS = 200

it('the end of a turn costs one stat of the lock and no look into the directory', (context) => {
  needPrograms(context, 'strace')
  const { dir } = makeHome()
  const trace = join(dir, 'trace')
  execFileSync('strace', [
    '-f',
    '-o',
    trace,
    '-e',
    'trace=file,getdents64,write',
    process.execPath,
    program,
    dir,
    String(TURNS),
  ])
  const lines = readFileSync(trace, 'utf8').split('\n')
  const begin = lines.findIndex((line) => line.includes('write(1, "begin'))
  const end = lines.findIndex((line) => line.includes('write(1, "end'))
  expect(begin).toBeGreaterThan(0)
  const meanwhile = lines.slice(begin + 1, end).filter((line) => !line.includes('/proc/') && line.includes('('))
  const stats = meanwhile.filter((line) => /stat[a-z0-9]*\(/.test(line) && line.includes('/memory/.consolidate-lock'))
  expect(stats).toHaveLength(TURNS)
  expect(meanwhile.filter((line) => line.includes('/memory/') && !stats.includes(line))).toEqual([])
  expect(meanwhile.filter((line) => line.includes('getdents'))).toEqual([])
})
