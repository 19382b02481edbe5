import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createIngest } from '../../daemon/transcripts/ingest.ts'
import { createMessageWords } from '../../daemon/transcripts/message-index.ts'
import {
  createBatchSize,
  createQueues,
  createReadLoop,
  type FromWorker,
} from '../../daemon/transcripts/reader-worker.ts'
import { createTranscripts } from '../../daemon/transcripts/transcript-table.ts'
import { testCore } from '../support/core.ts'
import { append } from '../support/transcripts.ts'

/** The loop of the thread on real files and a real index. */
async function rig() {
  const { core, home, time } = await testCore()
  const db = core.db.index()
  const words = createMessageWords(db)
  const told: FromWorker[] = []
  const ingest = createIngest(core.clock, createTranscripts(db, words), { backlogDays: 14, privatePaths: () => [] })
  let merged: 'more' | 'done' = 'done'
  let merges = 0
  const merge = () => {
    merges++
    if (merged === 'more') return words.merge()
    throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
  }
  const loop = createReadLoop(
    ingest,
    { merge },
    time.clock,
    (news) => told.push(news),
    () => told.push({ kind: 'idle', sequence: 0 }),
  )
  const sourceOf = (name: string) => ({ harness: 'generic', root: home.dir, path: join(home.dir, `${name}.jsonl`) })
  return {
    db,
    told,
    merges: () => merges,
    mergesFor: (how: 'more' | 'done') => {
      merged = how
    },
    /** Gives how large the file is. */
    write: (name: string, lines = 1, chars = 10) => {
      for (let n = 0; n < lines; n++) append(sourceOf(name).path, { type: 'user', text: `${n}`.padEnd(chars, '.') })
      return statSync(sourceOf(name).path).size
    },
    /** Reads until nothing is left, and gives what was told. */
    read: async (...names: string[]) => {
      told.length = 0
      loop.add(names.map(sourceOf), 'backlog')
      while (!told.some(({ kind }) => kind === 'idle')) await immediate()
      return told.map((news) =>
        'progress' in news && 'lines' in news.progress
          ? `${news.source.path.slice(home.dir.length + 1, -6)} ${news.progress.state}`
          : news.kind,
      )
    },
  }
}

describe('the read loop', () => {
  it('saves slices of several transcripts together, and goes round among those that have more', async () => {
    const { write, read } = await rig()
    write('a', 5, 100_000)
    for (const name of ['b', 'c']) write(name)
    expect(await read('a', 'b', 'c')).toEqual(['a more', 'b read', 'c read', 'a read', 'idle'])
  })

  it('tells of every transcript of a batch that could not be saved, and goes on', async () => {
    const { db, told, write, read } = await rig()
    for (const name of ['a', 'b']) write(name)
    db.exec(`CREATE TRIGGER no BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no'); END`)
    expect(await read('a', 'b')).toEqual(['failed', 'failed', 'idle'])
    expect(told[0]).toMatchObject({ kind: 'failed', error: { message: 'no' } })
    db.exec('DROP TRIGGER no')
    expect(await read('a', 'b')).toEqual(['a read', 'b read', 'idle'])
  })

  it('merges the segments of the full-text index after many batches, and goes on where that fails', async () => {
    const { merges, mergesFor, write, read } = await rig()
    for (let n = 0; n < 63; n++) {
      write('a')
      await read('a')
    }
    expect(merges()).toBe(0)
    write('a')
    expect(await read('a')).toEqual(['a read', 'idle'])
    expect(merges()).toBe(1)
    mergesFor('more')
    for (let n = 0; n < 64; n++) {
      write('a')
      await read('a')
    }
    expect(merges()).toBeGreaterThan(1)
  })
})

describe('the queues', () => {
  const order = (...added: [path: string, lane: 'live' | 'backlog'][]) => {
    const queues = createQueues()
    for (const [path, lane] of added) queues.add({ source: { harness: 'generic', root: '/r', path }, lane })
    const paths = []
    for (let next = queues.next(); next; next = queues.next()) paths.push(next.source.path)
    return paths
  }

  it('take turns: what grows now and what was left to read', () => {
    const left = ['a', 'b', 'c'].map((path): [string, 'backlog'] => [path, 'backlog'])
    expect(order(...left, ['x', 'live'], ['y', 'live'])).toEqual(['x', 'a', 'y', 'b', 'c'])
  })

  it('hold each file once, and sooner when it grows', () => {
    expect(order(['a', 'backlog'], ['b', 'backlog'], ['b', 'live'], ['b', 'backlog'])).toEqual(['b', 'a'])
  })
})

describe('the size of a batch', () => {
  it('is what is written with 15 ms of work at the speed of the fastest of the last, within bounds', () => {
    const batch = createBatchSize()
    const sizeAfter = (...taken: [ms: number, bytes: number, workedMs?: number][]) => {
      for (const [ms, bytes, workedMs = ms] of taken) batch.took(ms, workedMs, bytes)
      return batch.bytes()
    }
    expect(batch.bytes()).toBe(256_000)
    expect(sizeAfter([20, 200_000])).toBe(150_000)
    // One that the disk kept waiting changes nothing.
    expect(sizeAfter([900, 150_000])).toBe(150_000)
    expect(sizeAfter([10, 150_000])).toBe(225_000)
    expect(sizeAfter([1, 1_000])).toBe(225_000)
    expect(sizeAfter(...Array.from({ length: 9 }, (): [number, number] => [1, 200_000]))).toBe(1_024_000)
    expect(sizeAfter(...Array.from({ length: 9 }, (): [number, number] => [500, 200_000]))).toBe(64_000)
  })

  it.each([
    ['waits for others but little', { ms: 20, workedMs: 15 }, 200_000],
    ['waits for others most of the time', { ms: 120, workedMs: 15 }, 100_000],
    ['is written while other threads work', { ms: 15, workedMs: 60 }, 200_000],
  ])('of one that %s is what its own work allows', (_what, { ms, workedMs }, bytes) => {
    const batch = createBatchSize()
    batch.took(ms, workedMs, 200_000)
    expect(batch.bytes()).toBe(bytes)
  })
})
