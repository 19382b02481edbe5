import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createJobs } from '../../daemon/jobs/jobs.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import type { Source } from '../../daemon/transcripts/formats/format.ts'
import { createReadQueue } from '../../daemon/transcripts/read-queue.ts'
import type { Lane } from '../../daemon/transcripts/reader-worker.ts'
import { createTranscriptReader } from '../../daemon/transcripts/transcript-reader.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { makeHome } from '../support/home.ts'
import { append } from '../support/transcripts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Options = { harness?: string; sweepSeconds?: number; before?: (root: string) => void }

/** The real reader on real files. Time begins long after the files were written, and stands still but for the test. */
async function rig({ harness = 'generic', sweepSeconds = 60, before = () => {} }: Options = {}) {
  const none = { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [] }
  const time = manualTime(Date.now() + 60_000)
  const home = makeHome()
  const root = join(home.dir, 'root')
  mkdirSync(root)
  before(root)
  const settings = { sweepSeconds, roots: { ...none, [harness]: [root] } }
  const { core } = await testCore({ time, home, settings })
  const reader = core.lifecycle.add(
    'transcripts',
    createTranscriptReader(core, createProjects(core), createJobs(core, createModels(core))),
  )
  const index = core.db.index()
  const read = () =>
    index
      .prepare(
        `SELECT substr(f.path, ${root.length + 2}) || ' ' || count(*) FROM files f JOIN messages m ON m.file = f.id
         WHERE f.gone = 0 GROUP BY f.path ORDER BY f.path`,
      )
      .pluck()
      .all()
  /** Moves the clock on in small steps while what is awaited does not happen. */
  const until = async (isSo: () => boolean, stepMs = 1) => {
    while (!isSo()) {
      time.pass(stepMs)
      await immediate()
    }
  }
  return {
    ...{ core, home, reader, root, time, until, index },
    write: (name: string) => append(join(root, name), { type: 'user', text: name }),
    untilRead: async (...expected: string[]) => {
      await until(() => read().join() === expected.join())
      expect(read()).toEqual(expected)
    },
    /** The first sweep is over, and the watch stands. */
    start: async () => {
      reader.start()
      time.pass(300)
      await until(() => reader.roots().every(({ state }) => state !== 'polling'), 0)
    },
  }
}

describe('the reader', () => {
  it('begins with a sweep over everything, and sweeps again for what has changed', async () => {
    const { write, start, untilRead, time } = await rig({ harness: 'claude-code' })
    for (const name of ['a/1.jsonl', 'a/memory/2.jsonl', 'b/3.jsonl', 'b/3/subagents/agent-4.jsonl', 'notes.jsonl'])
      write(name)
    await start()
    await untilRead('a/1.jsonl 1', 'b/3.jsonl 1', 'b/3/subagents/agent-4.jsonl 1')
    write('a/1.jsonl')
    time.pass(60_000)
    await untilRead('a/1.jsonl 2', 'b/3.jsonl 1', 'b/3/subagents/agent-4.jsonl 1')
  })

  it.runIf(process.platform === 'linux')('reads in a thread that gives way to the one that answers', async () => {
    const { write, start, untilRead } = await rig()
    const begun = new Set(readdirSync('/proc/self/task'))
    const own = getPriority()
    write('a.jsonl')
    await start()
    await untilRead('a.jsonl 1')
    const nices = readdirSync('/proc/self/task').flatMap((id) => (begun.has(id) ? [] : getPriority(Number(id))))
    expect({ own: getPriority(), nicest: Math.max(...nices) }).toEqual({ own, nicest: Math.min(19, own + 10) })
  })

  it('follows watch events of files and of folders that appear, long before the next sweep', async () => {
    const { root, write, start, untilRead } = await rig({ sweepSeconds: 600 })
    append(join(`${root}-outside`, 'old.jsonl'), { type: 'user', text: 'old' })
    utimesSync(join(`${root}-outside`, 'old.jsonl'), 1, 1)
    await start()
    write('a.jsonl')
    write('deep/b.jsonl')
    await untilRead('a.jsonl 1', 'deep/b.jsonl 1')
    write('a.jsonl')
    renameSync(`${root}-outside`, join(root, 'moved'))
    await untilRead('a.jsonl 2', 'deep/b.jsonl 1', 'moved/old.jsonl 1')
  })

  it('leaves folders that are two weeks old to the sweep, until a session goes on in them', async () => {
    const { root, reader, write, start, until, untilRead, time } = await rig({
      harness: 'claude-code',
      sweepSeconds: 600,
      before: (root) => {
        for (const name of ['old/1.jsonl', 'new/2.jsonl']) append(join(root, name), { type: 'user', text: name })
        for (const name of ['old/1.jsonl', 'old'])
          utimesSync(join(root, name), (Date.now() - 20 * DAY_MS) / 1_000, (Date.now() - 20 * DAY_MS) / 1_000)
      },
    })
    await start()
    await untilRead('new/2.jsonl 1', 'old/1.jsonl 1')
    await until(() => reader.lagBytes() === 0, 0)
    write('old/1.jsonl')
    write('new/2.jsonl')
    await untilRead('new/2.jsonl 2', 'old/1.jsonl 1')
    time.pass(600_000)
    await untilRead('new/2.jsonl 2', 'old/1.jsonl 2')
    expect(statSync(join(root, 'old')).mtimeMs).toBeLessThan(Date.now() - 14 * DAY_MS)
    for (let lines = 3; lines < 5; lines++) {
      write('old/1.jsonl')
      await untilRead('new/2.jsonl 2', `old/1.jsonl ${lines}`)
    }
  })

  it('reads through a root that is a link, and follows no link below it', async () => {
    const { write, start, untilRead } = await rig({
      before: (root) => {
        renameSync(root, `${root}-real`)
        symlinkSync(`${root}-real`, root)
        append(join(`${root}-other`, 'x.jsonl'), { type: 'user', text: 'x' })
        symlinkSync(`${root}-other`, join(`${root}-real`, 'linked'))
        symlinkSync(join(`${root}-other`, 'x.jsonl'), join(`${root}-real`, 'x.jsonl'))
      },
    })
    write('a.jsonl')
    await start()
    await untilRead('a.jsonl 1')
  })

  it('keeps what failed as unread, says so, and tries it again in the next sweep', async () => {
    const { core, reader, root, index, write, start, until, untilRead, time } = await rig()
    write('a.jsonl')
    index.exec(`CREATE TRIGGER no BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END`)
    await start()
    await until(() => core.health.failures().some(({ message }) => message === 'no room'), 0)
    expect(reader.lagBytes()).toBe(statSync(join(root, 'a.jsonl')).size)
    index.exec('DROP TRIGGER no')
    time.pass(60_000)
    await untilRead('a.jsonl 1')
    await until(() => reader.lagBytes() === 0, 0)
  })

  it('tries at once what could not be saved, when the disk can be written again', async () => {
    const { core, reader, index, write, start, until, untilRead, time } = await rig({ sweepSeconds: 600 })
    write('a.jsonl')
    index.exec(`CREATE TRIGGER no BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END`)
    await start()
    await until(() => core.health.failures().length > 0, 0)
    index.exec('DROP TRIGGER no')
    core.disk.failed('no room')
    await untilRead('a.jsonl 1')
    await until(() => reader.lagBytes() === 0, 0)
    expect(time.clock.now()).toBeLessThan(Date.now() + HOUR_MS)
  })

  it('owes nothing of what failed and was deleted since', async () => {
    const { core, reader, root, index, write, start, until, time } = await rig()
    write('a.jsonl')
    index.exec(`CREATE TRIGGER no BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END`)
    await start()
    await until(() => core.health.failures().length > 0, 0)
    rmSync(join(root, 'a.jsonl'))
    time.pass(60_000)
    await until(() => reader.lagBytes() === 0)
    expect(reader.lagBytes()).toBe(0)
  })

  it('finds in its first sweep what was deleted before, and in the next ones what is deleted', async () => {
    const { core, home, root, write, start, until, untilRead, time } = await rig()
    for (const name of ['a.jsonl', 'b.jsonl', 'c.jsonl']) write(name)
    await start()
    await untilRead('a.jsonl 1', 'b.jsonl 1', 'c.jsonl 1')
    rmSync(join(root, 'b.jsonl'))
    time.pass(60_000)
    await untilRead('a.jsonl 1', 'c.jsonl 1')
    await core.stop(0)
    rmSync(join(root, 'c.jsonl'))
    const { core: next } = await testCore({ time, home })
    const reader = next.lifecycle.add(
      'transcripts',
      createTranscriptReader(next, createProjects(next), createJobs(next, createModels(next))),
    )
    reader.start()
    time.pass(300)
    const gone = next.db.index().prepare('SELECT count(*) FROM files WHERE gone = 1').pluck()
    await until(() => gone.get() === 2, 0)
    expect(gone.get()).toBe(2)
  })

  it('reads everything again when the index was replaced', async () => {
    const { reader, index, write, start, untilRead } = await rig()
    write('a.jsonl')
    await start()
    await untilRead('a.jsonl 1')
    index.exec('DELETE FROM messages; DELETE FROM files')
    reader.indexReplaced()
    await untilRead('a.jsonl 1')
  })

  it('looks for other roots as soon as the settings name them', async () => {
    const { core, root, write, start, untilRead } = await rig({ sweepSeconds: 600 })
    write('a.jsonl')
    await start()
    await untilRead('a.jsonl 1')
    const other = `${root}-other`
    append(join(other, 'b.jsonl'), { type: 'user', text: 'b' })
    const roots = { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [root, other] }
    writeFileSync(core.places.configFile, JSON.stringify({ sweepSeconds: 600, roots }), { mode: 0o600 })
    core.settings.reload()
    await untilRead('other/b.jsonl 1', 'a.jsonl 1')
  })
})

it('a backlog longer than what the thread is given at once is read to its end, and what grows now goes ahead', async () => {
  const { core, home } = await testCore()
  core.db.index()
  const queue = core.lifecycle.add('queue', createReadQueue(core))
  const sources = Array.from({ length: 1_000 }, (_, n) => {
    const path = join(home.dir, `${n}.jsonl`)
    append(path, { type: 'user', text: `${n}` })
    return { harness: 'generic', root: home.dir, path }
  })
  const ends: string[] = []
  const read = async (source: Source, lane: Lane) => {
    expect(await queue.read(source, lane, 1)).toBe('read')
    ends.push(source.path)
  }
  const backlog = sources.map((source) => read(source, 'backlog'))
  expect(queue.lagBytes()).toBe(sources.length)
  const last = sources.at(-1) as Source
  await read(last, 'live')
  expect(ends.length).toBeLessThan(sources.length)
  await Promise.all(backlog)
  expect(queue.lagBytes()).toBe(0)
})

it('a thread that cannot open the index tells why, so that the disk can be blamed', async () => {
  const { core, home } = await testCore()
  // A folder, where a file should be.
  const queue = createReadQueue({ ...core, layout: { ...core.layout, index: home.dir } })
  const source = { harness: 'generic', root: home.dir, path: join(home.dir, 's.jsonl') }
  expect(await queue.read(source, 'live')).toBe('lost')
  expect(core.health.list()).toMatchObject([
    { code: 'disk', message: expect.stringContaining('unable to open database file') },
  ])
  await expect(queue.turns([source])).rejects.toThrow('unable to open database file')
})
