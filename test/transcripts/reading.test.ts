import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Root, Source } from '../../daemon/transcripts/formats/formats.ts'
import { createAnywhere } from '../../daemon/transcripts/import-folder.ts'
import type { Progress } from '../../daemon/transcripts/ingest.ts'
import type { Due } from '../../daemon/transcripts/lanes.ts'
import { createReading } from '../../daemon/transcripts/reading.ts'
import type { FromThread } from '../../daemon/transcripts/thread-messages.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { append } from '../support/transcripts.ts'

const READ: Progress = { state: 'read', lines: 1, unreadBytes: 0 }

/** Everything but the thread and the watches, which a test plays itself. Time begins long after the files were written. */
function rig({ state = 'watching' }: { state?: 'watching' | 'polling' } = {}) {
  const path = join(makeHome().dir, 'root')
  const root: Root = { harness: 'generic', path }
  const time = manualTime(Date.now() + 60_000)
  const asked: Due[] = []
  const errors: unknown[] = []
  let onNews: (news: Extract<FromThread, { source: Source }>) => void = () => {}
  let onLost: (error: { message: string }) => void = () => {}
  let onHint: (root: Root, names: ReadonlySet<string>) => void = () => {}
  const imported: { dir: string; harness: string | undefined }[] = []
  let known: { id: number; harness: string; root: string; path: string }[] = []
  const reading = createReading({
    roots: () => [root],
    sweepMs: () => 60_000,
    own: { harness: 'generic', path: `${path}-own` },
    imported: () => imported,
    anywhere: createAnywhere({ roots: () => [root], stateDir: join(path, 'state'), isPrivate: () => false }),
    files: {
      cursor: () => undefined,
      present: ({ after, limit }) => known.filter(({ id }) => id > after).slice(0, limit),
    },
    clock: time.clock,
    thread: (hear) => {
      onNews = hear.onNews
      onLost = hear.onLost
      return {
        read: (due) => void asked.push(...due),
        turns: async () => [],
        lines: async () => [],
        end: () => {},
        stop: async () => {},
      }
    },
    watched: (hint) => {
      onHint = hint
      return { set: () => {}, refresh: () => {}, states: () => [{ ...root, state }], stop: () => {} }
    },
    onTurn: () => {},
    onError: (error) => errors.push(error),
  })
  const settle = async () => {
    for (let n = 0; n < 50; n++) await turn()
  }
  return {
    reading,
    imported,
    root,
    time,
    errors,
    /** Tells how large the file is. */
    write: (name: string) => {
      append(join(path, name), { type: 'user', text: name })
      return statSync(join(path, name)).size
    },
    settle,
    remove: (name: string) => rmSync(join(path, name)),
    hint: (...names: string[]) => onHint(root, new Set(names)),
    fail: (name: string, error: { message: string; code: string }) =>
      onNews({ kind: 'failed', source: { harness: 'generic', root: path, path: join(path, name) }, error }),
    again: (name: string) =>
      onNews({ kind: 'again', source: { harness: 'generic', root: path, path: join(path, name) } }),
    lose: () => onLost({ message: 'lost' }),
    knows: (...names: string[]) => {
      known = names.map((name, at) => ({ id: at + 1, harness: 'generic', root: path, path: join(path, name) }))
    },
    /** What was asked for since the last time, answered like this. */
    answer: async (progress?: Progress) => {
      await settle()
      const names = asked.splice(0).map(({ lane, ...source }) => {
        if (progress) onNews({ kind: 'progress', source, progress })
        return `${lane} ${source.path.slice(path.length + 1)}`
      })
      return names.sort()
    },
  }
}

describe('reading', () => {
  it('begins with a sweep over everything, and sweeps again for what has changed', async () => {
    const { reading, time, write, answer } = rig()
    write('a.jsonl')
    write('deep/b.jsonl')
    write('notes.txt')
    reading.start()
    expect(await answer()).toEqual([])
    time.pass(300)
    expect(await answer(READ)).toEqual(['backlog a.jsonl', 'backlog deep/b.jsonl'])
    write('a.jsonl')
    time.pass(60_000)
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    time.pass(60_000)
    expect(await answer(READ)).toEqual([])
  })

  it('follows hints at once, of files and of folders', async () => {
    const { reading, time, write, hint, answer } = rig()
    reading.start()
    time.pass(300)
    write('a.jsonl')
    write('deep/b.jsonl')
    hint('a.jsonl', 'a.txt', 'deep/')
    expect(await answer(READ)).toEqual(['live a.jsonl', 'live deep/b.jsonl'])
  })

  it('knows how much is left to read', async () => {
    const { reading, time, write, hint, answer } = rig()
    reading.start()
    time.pass(300)
    write('a.jsonl')
    hint('a.jsonl')
    const size = reading.lagBytes()
    expect(size).toBeGreaterThan(20)
    await answer({ state: 'more', lines: 1, unreadBytes: 7 })
    expect(reading.lagBytes()).toBe(7)
    hint('a.jsonl')
    await answer(READ)
    expect(reading.lagBytes()).toBe(0)
  })

  it('asks again for what was lost with the thread', async () => {
    const { reading, time, write, lose, errors, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer()).toEqual(['backlog a.jsonl'])
    const size = reading.lagBytes()
    expect(size).toBeGreaterThan(20)
    lose()
    // What was lost is still to be read.
    expect([errors.length, reading.lagBytes()]).toEqual([1, size])
    time.pass(60_000)
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    expect(reading.lagBytes()).toBe(0)
  })

  it('does not try again what cannot be read, before it changes', async () => {
    const { reading, time, write, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer({ state: 'unreadable', reason: 'it is a link' })).toEqual(['backlog a.jsonl'])
    time.pass(60_000)
    expect(await answer()).toEqual([])
  })

  it('tries at once what could not be saved, when the disk can be written again', async () => {
    const { reading, time, write, fail, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer()).toEqual(['backlog a.jsonl'])
    const size = reading.lagBytes()
    fail('a.jsonl', { message: 'database or disk is full', code: 'SQLITE_FULL' })
    expect([size > 20, reading.lagBytes()]).toEqual([true, size])
    reading.diskRecovered()
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    expect(reading.lagBytes()).toBe(0)
  })

  it('owes nothing of what failed and was deleted since, once a sweep has passed', async () => {
    const { reading, time, write, remove, fail, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    await answer()
    fail('a.jsonl', { message: 'database or disk is full', code: 'SQLITE_FULL' })
    remove('a.jsonl')
    reading.diskRecovered()
    expect([await answer(), reading.lagBytes()]).toEqual([[], 0])
  })

  it('reads again at once what has to be, though it was read and has not changed', async () => {
    const { reading, time, write, again, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    again('a.jsonl')
    expect(reading.lagBytes()).toBeGreaterThan(20)
    expect(await answer(READ)).toEqual(['live a.jsonl'])
    time.pass(60_000)
    expect(await answer()).toEqual([])
  })

  it('tries again in the next sweep what failed, and says so', async () => {
    const { reading, time, write, fail, errors, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    fail('a.jsonl', { message: 'too many open files', code: 'EMFILE' })
    expect(await answer()).toEqual(['backlog a.jsonl'])
    fail('a.jsonl', { message: 'too many open files', code: 'EMFILE' })
    time.pass(60_000)
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    expect(errors).toMatchObject([{ code: 'EMFILE' }, { code: 'EMFILE' }])
    time.pass(60_000)
    expect(await answer()).toEqual([])
  })

  it('finds in its first sweep what was deleted while nobody looked', async () => {
    const { reading, time, write, remove, knows, answer } = rig()
    write('a.jsonl')
    write('b.jsonl')
    remove('b.jsonl')
    knows('a.jsonl', 'b.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer({ state: 'gone' })).toEqual(['backlog a.jsonl', 'backlog b.jsonl'])
  })

  it('looks in every sweep for what was deleted, where it cannot be watched', async () => {
    const { reading, time, write, remove, knows, answer } = rig({ state: 'polling' })
    write('a.jsonl')
    knows('a.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    remove('a.jsonl')
    time.pass(60_000)
    expect(await answer({ state: 'gone' })).toEqual(['backlog a.jsonl'])
  })

  it('finds by its next sweep what was deleted, where nobody watches', async () => {
    const { reading, time, write, remove, knows, answer } = rig()
    write('a.jsonl')
    write('b.jsonl')
    knows('a.jsonl', 'b.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer(READ)).toEqual(['backlog a.jsonl', 'backlog b.jsonl'])
    remove('b.jsonl')
    time.pass(60_000)
    expect(await answer({ state: 'gone' })).toEqual(['backlog b.jsonl'])
  })

  it('looks in turn for deleted ones where there are more files than a sweep looks at', async () => {
    const { reading, time, knows, answer } = rig()
    reading.start()
    time.pass(300)
    await answer()
    knows(...Array.from({ length: 2_500 }, (_, n) => `${n}.jsonl`))
    const missing = []
    for (let sweep = 0; sweep < 3; sweep++) {
      time.pass(60_000)
      let found = 0
      for (let more = await answer({ state: 'gone' }); more.length > 0; more = await answer({ state: 'gone' }))
        found += more.length
      missing.push(found)
    }
    expect(missing).toEqual([1_000, 1_000, 500])
  })

  it('looks for all of them in the next sweep when a folder may have gone as a whole', async () => {
    const { reading, time, knows, hint, answer } = rig()
    reading.start()
    time.pass(300)
    await answer()
    knows(...Array.from({ length: 2_500 }, (_, n) => `deep/${n}.jsonl`))
    hint('deep/')
    time.pass(60_000)
    let found = 0
    for (let more = await answer({ state: 'gone' }); more.length > 0; more = await answer({ state: 'gone' }))
      found += more.length
    expect(found).toBe(2_500)
  })

  it('looks through imported folders at first and once an hour', async () => {
    const { reading, root, time, imported, answer } = rig()
    const dir = `${root.path}-imported`
    imported.push({ dir, harness: undefined })
    append(join(dir, 'a.jsonl'), { type: 'user', text: 'a' })
    reading.start()
    time.pass(300)
    expect(await answer(READ)).toEqual(['backlog imported/a.jsonl'])
    append(join(dir, 'a.jsonl'), { type: 'user', text: 'b' })
    for (let minute = 1; minute < 60; minute++) {
      time.pass(60_000)
      expect(await answer()).toEqual([])
    }
    time.pass(60_000)
    expect(await answer(READ)).toEqual(['backlog imported/a.jsonl'])
  })

  it('reads everything again when the index was replaced, and what a sweep under way has passed by', async () => {
    const { reading, time, write, answer } = rig()
    write('a.jsonl')
    reading.start()
    time.pass(300)
    expect(await answer(READ)).toEqual(['backlog a.jsonl'])
    write('b.jsonl')
    time.pass(60_000)
    reading.indexReplaced()
    expect(new Set(await answer(READ))).toEqual(new Set(['backlog a.jsonl', 'backlog b.jsonl']))
  })

  it('holds a sweep back while much is due, and goes on when there is room', async () => {
    const { reading, time, write, settle, answer } = rig()
    const sizes = Array.from({ length: 1_200 }, (_, n) => write(`${n}.jsonl`))
    reading.start()
    time.pass(300)
    // Those that have to wait count as well.
    await settle()
    expect(reading.lagBytes()).toBe(sizes.reduce((sum, size) => sum + size))
    const first = await answer(READ)
    expect(first.length).toBeGreaterThanOrEqual(500)
    expect(first.length).toBeLessThanOrEqual(700)
    const all = new Set(first)
    for (let more = await answer(READ); more.length > 0; more = await answer(READ))
      for (const name of more) all.add(name)
    expect(all.size).toBe(1_200)
    expect(reading.lagBytes()).toBe(0)
  })
})
