import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Prepared } from '../../daemon/transcripts/ingest.ts'
import { createPace } from '../../daemon/transcripts/pace.ts'
import { createRounds } from '../../daemon/transcripts/rounds.ts'
import type { FromThread } from '../../daemon/transcripts/thread-messages.ts'

/** Every transcript has so many slices of 100,000 bytes. */
function rig(slices: Record<string, number>, merge: () => 'more' | 'done' = () => 'done') {
  const saved: string[][] = []
  const told: FromThread[] = []
  let failing = false
  const rounds = createRounds({
    ingest: {
      read: async ({ path }) => {
        slices[path] = (slices[path] ?? 1) - 1
        const state = (slices[path] ?? 0) > 0 ? 'more' : 'read'
        return {
          progress: { state, lines: 1, unreadBytes: 0 },
          rows: { path } as Prepared['rows'] & object,
          bytes: 100_000,
        }
      },
      ready: (prepared) => () => {
        if (failing) throw new Error('full')
        saved.push(prepared.map(({ rows }) => rows?.path ?? ''))
        return []
      },
    },
    clock: { elapsed: () => 0, worked: () => 0 },
    linesOf: async () => [],
    turnsOf: async () => [],
    setPrivate: () => {},
    merge,
    tell: (message) => told.push(message),
  })
  const hear = (...paths: string[]) => {
    const due = paths.map((path) => ({ harness: 'generic', root: '/', path, lane: 'backlog' as const }))
    rounds.hear({ kind: 'read', turn: 1, due, privatePaths: [] })
  }
  return {
    saved,
    told,
    fail: () => {
      failing = true
    },
    hear,
    read: async (...paths: string[]) => {
      hear(...paths)
      while (!told.some(({ kind }) => kind === 'idle')) await turn()
    },
  }
}

it('saves slices of several transcripts together, of each one at a time', async () => {
  const { saved, told, read } = rig({ a: 2 })
  await read('a', 'b', 'c', 'd')
  expect(saved).toEqual([
    ['a', 'b', 'c'],
    ['d', 'a'],
  ])
  expect(told.map((message) => ('source' in message ? message.source.path : message.kind))).toEqual([
    ...['a', 'b', 'c', 'd', 'a'],
    'idle',
  ])
})

it('tells of every transcript of a round that could not be saved', async () => {
  const { told, fail, read } = rig({})
  fail()
  await read('a', 'b')
  expect(told).toEqual([
    ...['a', 'b'].map((path) => ({
      kind: 'failed',
      source: { harness: 'generic', root: '/', path },
      error: { message: 'full' },
    })),
    { kind: 'idle', turn: 1 },
  ])
})

describe('after many rounds', () => {
  it('what they left in the index is put together before it rests, step by step', async () => {
    const steps: number[] = []
    const { told, read } = rig({ a: 64 }, () => (steps.push(told.length) < 5 ? 'more' : 'done'))
    await read('a')
    expect(told.at(-1)).toEqual({ kind: 'idle', turn: 1 })
    expect(steps).toEqual([64, 64, 64, 64, 64])
    told.length = 0
    await read('b')
    expect(steps.length).toBe(5)
  })

  it('and not after fewer', async () => {
    let merged = 0
    const { read } = rig({ a: 63 }, () => (++merged < 5 ? 'more' : 'done'))
    await read('a')
    expect(merged).toBe(0)
  })

  it('what comes in between is read first', async () => {
    const order: string[] = []
    const { saved, told, read, hear } = rig({ a: 64 }, () => {
      if (order.push(`merge after ${saved.length}`) === 2) hear('b')
      return order.length < 4 ? 'more' : 'done'
    })
    await read('a')
    expect(order).toEqual(['merge after 64', 'merge after 64', 'merge after 65', 'merge after 65'])
    expect(told.at(-1)?.kind).toBe('idle')
  })

  it('a merge that fails keeps nothing from being read, and is tried again after as many more', async () => {
    let tried = 0
    const { saved, told, read } = rig({ a: 64, b: 64 }, () => {
      tried++
      throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
    })
    await read('a')
    expect([tried, saved.length]).toEqual([1, 64])
    told.length = 0
    await read('b')
    expect([tried, saved.length]).toEqual([2, 128])
  })
})

it('a round is as large as is written with 15 ms of work at the speed of the quickest of the last, within bounds', () => {
  const pace = createPace()
  const after = (...taken: [ms: number, bytes: number, workedMs?: number][]) => {
    for (const [ms, bytes, workedMs = ms] of taken) pace.took(ms, workedMs, bytes)
    return pace.batchBytes()
  }
  expect(pace.batchBytes()).toBe(256_000)
  expect(after([20, 200_000])).toBe(150_000)
  // One that the disk kept waiting changes nothing.
  expect(after([900, 150_000])).toBe(150_000)
  expect(after([10, 150_000])).toBe(225_000)
  expect(after([1, 1_000])).toBe(225_000)
  expect(after(...Array.from({ length: 9 }, (): [number, number] => [1, 200_000]))).toBe(1_024_000)
  expect(after(...Array.from({ length: 9 }, (): [number, number] => [500, 200_000]))).toBe(64_000)
})

it.each([
  ['waits for others but little', { ms: 20, workedMs: 15 }, 200_000],
  ['waits for others most of the time', { ms: 120, workedMs: 15 }, 100_000],
  ['is written while other threads work', { ms: 15, workedMs: 60 }, 200_000],
])('a round that %s is as large as its own work allows', (_what, { ms, workedMs }, batchBytes) => {
  const pace = createPace()
  pace.took(ms, workedMs, 200_000)
  expect(pace.batchBytes()).toBe(batchBytes)
})
