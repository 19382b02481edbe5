import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createWatching, MOST_WATCHED } from '../../daemon/memory/watching.ts'
import { createEvents } from '../../daemon/platform/events.ts'
import { createHealth } from '../../daemon/platform/health.ts'
import type { Watch } from '../../daemon/platform/path-wait.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { memoryRig, person, type Rig, topic } from '../support/memory.ts'

const SWEEP_MS = 30_000
const SWEEPS_OF_TEN_MINUTES = 20
const never = new AbortController().signal

/** Watches that a test makes tell something, or fail. */
function scriptedWatch() {
  const listeners = new Map<string, (event: string, name: string | null) => void>()
  let code: string | undefined
  const watch: Watch = (path, _options, onEvent) => {
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    listeners.set(path, onEvent)
    const close = () => {
      if (listeners.get(path) === onEvent) listeners.delete(path)
    }
    return { close, on: () => undefined as never }
  }
  return {
    watch,
    fail: (next: string | undefined) => {
      code = next
    },
    watched: () => [...listeners.keys()],
    tell: async (path: string, ...names: (string | null)[]) => {
      for (const name of names) listeners.get(path)?.('change', name)
      await turn()
    },
  }
}

/** Watching alone, with looks that are only noted. */
function watching({ folders = ['a'] }: { folders?: string[] } = {}) {
  const { dir: home } = makeHome()
  const dirOf = (folder: string) => join(home, folder)
  for (const folder of folders) mkdirSync(dirOf(folder))
  const known = new Set(folders.map(dirOf))
  const time = manualTime()
  const health = createHealth(time.clock, createEvents(time.clock))
  const script = scriptedWatch()
  let looks: string[] = []
  let failure: Error | undefined
  const errors: unknown[] = []
  const part = createWatching({
    known: () => [...known],
    look: async (dir, names) => {
      looks.push([dir.slice(home.length + 1), ...(names ?? ['everything'])].join(' '))
      if (failure) throw failure
    },
    isPlace: () => true,
    clock: time.clock,
    health,
    onError: (error) => errors.push(error),
    watch: script.watch,
  })
  onTestFinished(() => part.stop(AbortSignal.abort()))
  return {
    ...part,
    ...script,
    home,
    dirOf,
    known,
    health,
    errors,
    pass: time.pass,
    failLooks: (next: Error | undefined) => {
      failure = next
    },
    /** What was looked at since this was last asked. */
    looks: () => {
      const all = looks
      looks = []
      return all
    },
    sweep: async (times = 1) => {
      for (let n = 0; n < times; n++) {
        time.pass(SWEEP_MS)
        // Twice: the watches are refreshed in a turn of their own.
        await turn()
        await turn()
      }
    },
  }
}

describe('a watched directory', () => {
  it('is looked at once it has been quiet for a moment, at the names that changed', async () => {
    const { start, tell, dirOf, pass, looks } = watching()
    start()
    await turn()
    expect(looks()).toEqual(['a everything'])
    await tell(dirOf('a'), 'x.md', '.hidden', 'y.txt')
    pass(150)
    await tell(dirOf('a'), 'y.md', 'x.md')
    pass(199)
    expect(looks()).toEqual([])
    pass(1)
    expect(looks()).toEqual(['a x.md y.md'])
  })

  it('that never is quiet is looked at all the same', async () => {
    const { start, tell, dirOf, pass, looks } = watching()
    start()
    await turn()
    looks()
    for (let n = 0; n < 40; n++) {
      await tell(dirOf('a'), 'x.md')
      pass(100)
    }
    expect(looks()).toEqual(['a x.md', 'a x.md'])
  })

  it('is looked through as a whole when the system does not say what changed, or a folder did', async () => {
    const { start, tell, dirOf, pass, looks } = watching()
    start()
    await turn()
    looks()
    await tell(dirOf('a'), 'x.md', null)
    pass(200)
    expect(looks()).toEqual(['a everything'])
  })

  it('is not looked at for names that are none of a memory', async () => {
    const { start, tell, dirOf, pass, looks } = watching()
    start()
    await turn()
    looks()
    await tell(dirOf('a'), '.memoryd-1-2.tmp', 'a.md~', '4913')
    pass(10_000)
    expect(looks()).toEqual([])
  })

  it('is looked through every ten minutes in any case, one directory after the other', async () => {
    const folders = Array.from({ length: 40 }, (_, n) => `d${n}`)
    const { start, sweep, looks } = watching({ folders })
    start()
    await turn()
    expect(looks()).toHaveLength(40)
    for (let n = 0; n < SWEEPS_OF_TEN_MINUTES; n++) {
      await sweep()
      expect(looks()).toHaveLength(2)
    }
    await sweep(SWEEPS_OF_TEN_MINUTES)
    expect(looks().sort()).toEqual(folders.map((folder) => `${folder} everything`).sort())
  })

  it('whose look failed is looked through at the next sweep, and the failure is told once', async () => {
    const { start, tell, dirOf, pass, looks, sweep, failLooks, errors } = watching()
    start()
    await turn()
    looks()
    failLooks(new Error('disk full'))
    await tell(dirOf('a'), 'x.md')
    pass(200)
    await turn()
    await sweep(2)
    failLooks(undefined)
    await sweep(2)
    expect(looks()).toEqual(['a x.md', 'a everything', 'a everything', 'a everything'])
    expect(errors).toEqual([new Error('disk full')])
  })

  it('that is seen for the first time, or is known from elsewhere, is watched and looked through', async () => {
    const { start, used, looks, dirOf, known, watched, sweep } = watching({ folders: [] })
    start()
    await turn()
    mkdirSync(dirOf('b'))
    known.add(dirOf('b'))
    used(dirOf('b'), 'new')
    mkdirSync(dirOf('c'))
    known.add(dirOf('c'))
    await sweep()
    expect(watched()).toEqual([dirOf('b'), dirOf('c')])
    expect(looks()).toEqual(['b everything', 'c everything'])
    known.delete(dirOf('b'))
    await sweep()
    expect(watched()).toEqual([dirOf('c')])
  })
})

describe('where the system will not watch', () => {
  it('looks through everything in every sweep, says so, and watches again when it can', async () => {
    const { start, fail, looks, sweep, health, watched } = watching({ folders: ['a', 'b'] })
    fail('ENOSPC')
    start()
    await turn()
    looks()
    expect(health.list()).toEqual([
      {
        code: 'watch',
        message:
          'polling: edits of memories by others are noticed within a minute, not at once; the limit of inotify watches is reached: raise fs.inotify.max_user_watches with sysctl',
        since: '2026-01-01T00:00:00.000Z',
      },
    ])
    await sweep()
    expect(looks().sort()).toEqual(['a everything', 'b everything'])
    await sweep()
    expect(looks().sort()).toEqual(['a everything', 'b everything'])
    fail('EACCES')
    await sweep()
    expect(health.list()).toMatchObject([
      { message: expect.stringContaining('cannot be watched (EACCES): make it readable for you') },
    ])
    fail(undefined)
    await sweep()
    expect(health.list()).toEqual([])
    expect(watched()).toHaveLength(2)
  })

  it('does not call it a failure when there are more folders than are watched, but sweeps', async () => {
    const { start, sweep, looks, health, dirOf } = watching()
    for (let n = 0; n < 150; n++) mkdirSync(join(dirOf('a'), `f${n}`))
    start()
    while (looks().length === 0) await turn()
    for (let n = 0; n < 10; n++) await turn()
    await sweep()
    expect(looks()).toEqual(['a everything'])
    expect(health.list()).toEqual([])
  })
})

describe('more directories than are watched', () => {
  it('are watched where somebody is at work, the others swept', async () => {
    const folders = Array.from({ length: MOST_WATCHED + 2 }, (_, n) => `d${n}`)
    const { start, used, watched, looks, sweep, dirOf } = watching({ folders })
    for (const [n, folder] of folders.entries()) utimesSync(dirOf(folder), 1_000 - n, 1_000 - n)
    start()
    await turn()
    expect(looks()).toHaveLength(folders.length)
    const last = folders.slice(-2)
    expect(watched()).toEqual(folders.slice(0, -2).map(dirOf))
    await sweep()
    expect(looks()).toEqual(expect.arrayContaining(last.map((folder) => `${folder} everything`)))

    used(dirOf(last[1] as string), 'known')
    expect(looks()).toEqual([`${last[1]} everything`])
    expect(watched()).toHaveLength(MOST_WATCHED)
    expect(watched()).toContain(dirOf(last[1] as string))
    // The one that was changed longest ago has made room.
    expect(watched()).not.toContain(dirOf(`d${MOST_WATCHED - 1}`))
    used(dirOf(last[1] as string), 'known')
    expect(looks()).toEqual([])
  })

  it('that were never made cost a glance, and are looked at when they are', async () => {
    const { start, fail, looks, sweep, dirOf } = watching({ folders: ['a'] })
    rmSync(dirOf('a'), { recursive: true })
    fail('ENOSPC')
    start()
    await turn()
    looks()
    await sweep(2)
    expect(looks()).toEqual([])
    mkdirSync(dirOf('a'))
    await sweep(2)
    expect(looks()).toEqual(['a everything', 'a everything'])
    rmSync(dirOf('a'), { recursive: true })
    await sweep(2)
    expect(looks()).toEqual(['a everything'])
  })
})

describe('watching', () => {
  it('ends with everything let go of, and waits for a look that is under way', async () => {
    const { start, stop, used, watched, sweep, looks, dirOf, tell, pass } = watching({ folders: ['a', 'b'] })
    start()
    await tell(dirOf('a'), 'x.md')
    await stop(never)
    expect(watched()).toEqual([])
    looks()
    pass(10_000)
    used(dirOf('c'), 'new')
    await sweep(SWEEPS_OF_TEN_MINUTES)
    expect(looks()).toEqual([])
  })

  it('that was not started looks through a new directory all the same', () => {
    const { used, looks, dirOf, watched } = watching()
    used(dirOf('a'), 'new')
    used(dirOf('a'), 'known')
    expect(looks()).toEqual(['a everything'])
    expect(watched()).toEqual([])
  })
})

describe('edits by others, with memory as a whole', () => {
  const changes = (rig: Rig) =>
    rig.memory.history
      .changes(rig.cwd, person, { file: undefined, limit: undefined, after: undefined })
      .items.map(({ op, file, actor }) => `${op} ${file} ${actor}`)
      .reverse()
  const put = (rig: Rig, file: string, content: string) =>
    rig.memory.writing.put(rig.cwd, person, { file, content, expect: undefined }, 'test')

  it('are found by a sweep where the system will not watch', async () => {
    const { watch, fail } = scriptedWatch()
    fail('ENOSPC')
    const rig = await memoryRig({ watch })
    await put(rig, 'a.md', topic('One.'))
    rig.memory.watching.start()
    writeFileSync(join(rig.dir, 'a.md'), topic('In an editor.'))
    rig.time.pass(60_000)
    await rig.memory.watching.stop(never)
    expect(changes(rig)).toEqual(['create a.md user', 'update a.md external'])
    expect(rig.health.list()).toMatchObject([{ code: 'watch' }])
    expect(rig.errors).toEqual([])
  })

  it('are told from our own writes, which leave nothing to journal', async () => {
    const { watch, tell } = scriptedWatch()
    const rig = await memoryRig({ watch })
    rig.memory.watching.start()
    await put(rig, 'a.md', topic('One.'))
    await tell(rig.dir, '.memoryd-1-2.tmp', 'a.md', 'MEMORY.md', null)
    rig.time.pass(1_000)
    await rig.memory.watching.stop(never)
    expect(changes(rig)).toEqual(['create a.md user'])
    expect(rig.saved).toEqual([{ dir: rig.dir, files: ['a.md'], actor: 'user' }])
  })

  it('behind a link to a forbidden place are nobody’s business: nothing there is watched, read or written', async () => {
    const { watch, watched } = scriptedWatch()
    let forbidden = ''
    const rig = await memoryRig({ watch, isPlace: () => forbidden === '' })
    await put(rig, 'a.md', topic('One.'))
    rmSync(rig.dir, { recursive: true })
    forbidden = join(rig.home, 'forbidden')
    mkdirSync(join(forbidden, 'team'), { recursive: true })
    writeFileSync(join(forbidden, 'private.md'), topic('Private.'))
    symlinkSync(forbidden, rig.dir)
    rig.memory.watching.start()
    rig.time.pass(60_000)
    await turn()
    expect(watched()).toEqual([dirname(rig.dir)])
    await rig.memory.watching.stop(never)
    expect(changes(rig)).toEqual(['create a.md user'])
    expect(rig.errors).toEqual([])
  })
})
