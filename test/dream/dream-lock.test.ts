import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Core } from '../../daemon/core.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createDreamLock } from '../../daemon/dream/dream-lock.ts'
import { createDreams, type Dreams } from '../../daemon/dream/dream-table.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { alternate, contend, type Ground, lockGround, lockProgram } from '../support/lock-rounds.ts'

const MINUTE_MS = 60_000

/** No run is on record, unless the test brings some. */
const lockOf = ({ state }: Pick<Ground, 'state'>, dreams = { get: () => undefined } as unknown as Dreams) =>
  createDreamLock({ stateDir: state, clock: createClock() } as Core, dreams)

function aged({ file }: Ground, body: string, ageMs: number): number {
  writeFileSync(file, body)
  const at = Math.floor(Date.now() - ageMs)
  utimesSync(file, at / 1_000, (at + 0.5) / 1_000)
  return at
}

/** A holder that died at its work, and the note that it left. */
async function died(ground: Ground): Promise<string> {
  const notes = () => namesIn(join(ground.state, 'dreams')).filter((name) => name.endsWith('.json'))
  const known = notes()
  await lockProgram('crash', ground).exited
  return join(ground.state, 'dreams', notes().find((name) => !known.includes(name)) ?? '')
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])

const mtimeOf = ({ file }: Ground) => Math.floor(statSync(file).mtimeMs)

describe('the lock of a memory directory', () => {
  it('is never had by two of eight processes at once', { timeout: 120_000 }, () => contend(80))

  it('loses nothing to a program that follows the simple protocol', { timeout: 120_000 }, () => alternate(10, 60))

  it('belongs to the process that holds it, and is free when that is killed', async () => {
    const ground = lockGround()
    const lock = lockOf(ground)
    const other = lockProgram('hold', ground)
    expect(await other.said).toBe('held')
    expect(readFileSync(ground.file, 'utf8')).toBe(String(other.pid))
    expect(lock.holder(ground.dir)).toMatchObject({ pid: other.pid })
    expect(lock.acquire(ground.dir, 'r')).toEqual({ heldBy: 'ours' })
    // Another state folder: only the file tells.
    expect(lockOf(lockGround()).acquire(ground.dir, 'r')).toMatchObject({ heldBy: { pid: other.pid } })
    await other.kill()
    expect(lock.holder(ground.dir)).toBeUndefined()
    const acquired = lock.acquire(ground.dir, 'r')
    expect(acquired).toMatchObject({ lock: { lastMs: undefined } })
    expect(readFileSync(ground.file, 'utf8')).toBe(String(process.pid))
  })

  it.each([
    ['younger than an hour', 59 * MINUTE_MS, true],
    ['an hour old', 60 * MINUTE_MS, false],
    ['from the future by more than an hour', -61 * MINUTE_MS, false],
  ])('of a living process holds when it is %s: %#', async (_what, ageMs, holds) => {
    const ground = lockGround()
    const stranger = lockProgram('hold', lockGround())
    await stranger.said
    const at = aged(ground, String(stranger.pid), ageMs)
    const lock = lockOf(ground)
    const acquired = lock.acquire(ground.dir, 'r')
    expect('lock' in acquired).toBe(!holds)
    expect(lock.lastMs(ground.dir)).toBe(holds ? at : mtimeOf(ground))
    if ('lock' in acquired) expect(acquired.lock.lastMs).toBe(at)
  })

  it('counts as free when it names a dead process, none, or something that is no process', async () => {
    const dead = lockProgram('crash', lockGround())
    await dead.exited
    for (const body of [String(dead.pid), '', '0', '-1', 'x', '99999999999']) {
      const ground = lockGround()
      aged(ground, body, MINUTE_MS)
      expect('lock' in lockOf(ground).acquire(ground.dir, 'r'), body).toBe(true)
    }
  })

  it('counts as free when it names this process and no dream runs in it', () => {
    const ground = lockGround()
    const lock = lockOf(ground)
    const at = aged(ground, String(process.pid), MINUTE_MS)
    expect(lock.holder(ground.dir)).toBeUndefined()
    const acquired = lock.acquire(ground.dir, 'r')
    expect(acquired).toMatchObject({ lock: { lastMs: at } })
    // But not while one does.
    expect(lock.holder(ground.dir)).toMatchObject({ pid: process.pid })
    expect(lock.acquire(ground.dir, 'r')).toEqual({ heldBy: 'ours' })
  })

  it('keeps the time of a success, and is put back to the millisecond after a failure', () => {
    for (let ms = 0; ms < 40; ms++) {
      const ground = lockGround()
      const lock = lockOf(ground)
      const at = aged(ground, '1', 5 * 3_600_000 + ms)
      const acquired = lock.acquire(ground.dir, 'r')
      if (!('lock' in acquired)) throw new Error('not had')
      expect(mtimeOf(ground)).toBeGreaterThan(at)
      acquired.lock.rollBack()
      expect({ at: mtimeOf(ground), body: readFileSync(ground.file, 'utf8') }).toEqual({ at, body: '' })
    }
    const ground = lockGround()
    const lock = lockOf(ground)
    const begunMs = Date.now() - 1
    for (const end of ['rollBack', 'succeed'] as const) {
      const acquired = lock.acquire(ground.dir, 'r')
      if (!('lock' in acquired)) throw new Error('not had')
      expect(acquired.lock.lastMs).toBeUndefined()
      acquired.lock[end]()
      if (end === 'rollBack') expect(lock.lastMs(ground.dir)).toBeUndefined()
    }
    expect(lock.lastMs(ground.dir)).toBeGreaterThanOrEqual(begunMs)
    expect(lock.recover()).toEqual([])
  })

  it('is put back when its holder died before it wrote anything, and left when the work was done', async () => {
    for (const isDone of [false, true]) {
      const ground = lockGround()
      const at = aged(ground, '', 30 * 3_600_000)
      await lockProgram('crash', ground).exited
      expect(mtimeOf(ground)).toBeGreaterThan(at)
      const { history } = openDatabases(ground.state, 0)
      onTestFinished(() => void history.close())
      const dreams = createDreams(history)
      const row = { runId: 'test', dir: ground.dir, watermark: '', trigger: 'person', beganMs: 0, endedMs: 0 }
      dreams.add({ ...row, outcome: isDone ? 'applied' : 'failed', why: undefined, facts: {} })
      const lock = lockOf(ground, dreams)
      expect(lock.recover()).toEqual(isDone ? [] : [ground.dir])
      if (isDone) expect(mtimeOf(ground)).toBeGreaterThan(at)
      else expect(mtimeOf(ground)).toBe(at)
      expect(lock.recover()).toEqual([])
    }
    // The next one who takes it does so too.
    const ground = lockGround()
    await lockProgram('crash', ground).exited
    expect(lockOf(ground).acquire(ground.dir, 'r')).toMatchObject({ lock: { lastMs: undefined } })
  })

  it('is put back when its holder died with only half of it written', async () => {
    for (const before of [30 * 3_600_000, undefined]) {
      const ground = lockGround()
      const at = before === undefined ? undefined : aged(ground, '', before)
      const note = await died(ground)
      // Room was made for the number, and nothing written.
      writeFileSync(ground.file, '')
      expect(lockOf(ground).recover()).toEqual([ground.dir])
      expect(existsSync(note)).toBe(false)
      expect(lockOf(ground).lastMs(ground.dir)).toBe(at)
    }
  })

  it('keeps no daemon from starting, whatever stands in its place', async () => {
    for (const put of [
      ({ file }: Ground) => symlinkSync('/etc/passwd', file),
      ({ file }: Ground) => mkdirSync(file),
      ({ dir }: Ground) => {
        rmSync(dir, { recursive: true })
        writeFileSync(dir, '')
      },
    ]) {
      const ground = lockGround()
      const note = await died(ground)
      rmSync(ground.file)
      put(ground)
      const fine = lockGround()
      const other = await died({ ...fine, state: ground.state })
      expect(lockOf(ground).recover()).toEqual([fine.dir])
      expect([existsSync(note), existsSync(other)]).toEqual([true, false])
    }
  })

  it('is one lock under all names of its directory', () => {
    const ground = lockGround()
    const link = join(ground.state, 'link')
    symlinkSync(ground.dir, link)
    const lock = lockOf(ground)
    expect(lock.acquire(ground.dir, 'r')).toHaveProperty('lock')
    expect(lock.acquire(link, 'r')).toEqual({ heldBy: 'ours' })
  })

  it('is not ours any more when a link stands in its place, and letting go of it leaves that alone', () => {
    const ground = lockGround()
    const lock = lockOf(ground)
    const acquired = lock.acquire(ground.dir, 'r')
    if (!('lock' in acquired)) throw new Error('not had')
    rmSync(ground.file)
    symlinkSync(ground.state, ground.file)
    expect(acquired.lock.isOurs()).toBe(false)
    acquired.lock.rollBack()
    expect(lstatSync(ground.file).isSymbolicLink()).toBe(true)
    rmSync(ground.file)
    expect(lock.acquire(ground.dir, 'r')).toHaveProperty('lock')
  })

  const notesOf = ({ state }: Ground) => namesIn(join(state, 'dreams')).filter((name) => name.endsWith('.json'))
  const take = (ground: Ground) => {
    const acquired = lockOf(ground).acquire(ground.dir, 'r')
    if (!('lock' in acquired)) throw new Error('not had')
    expect(notesOf(ground)).toHaveLength(1)
    return acquired.lock
  }

  it('leaves no note after a roll back', () => {
    const ground = lockGround()
    aged(ground, '1', 5 * 3_600_000)
    for (let n = 0; n < 2; n++) {
      take(ground).rollBack()
      expect(notesOf(ground)).toEqual([])
    }
  })

  it.skipIf(process.getuid?.() === 0)('leaves its note where the file could not be put back, for the next one', () => {
    const ground = lockGround()
    const at = aged(ground, '1', 5 * 3_600_000)
    const held = take(ground)
    chmodSync(ground.file, 0o400)
    held.rollBack()
    chmodSync(ground.file, 0o600)
    expect(notesOf(ground)).toHaveLength(1)
    expect(take(ground).lastMs).toBe(at)
  })

  it('leaves alone what another program has taken meanwhile', () => {
    const ground = lockGround()
    const acquired = lockOf(ground).acquire(ground.dir, 'r')
    if (!('lock' in acquired)) throw new Error('not had')
    writeFileSync(ground.file, '1')
    expect(acquired.lock.isOurs()).toBe(false)
    acquired.lock.rollBack()
    expect(readFileSync(ground.file, 'utf8')).toBe('1')
  })

  it('never writes through a link', () => {
    for (const link of [symlinkSync, linkSync]) {
      const ground = lockGround()
      const victim = join(ground.state, 'victim')
      writeFileSync(victim, 'precious')
      link(victim, ground.file)
      expect(lockOf(ground).acquire(ground.dir, 'r')).toMatchObject({ refused: expect.any(String) })
      expect(readFileSync(victim, 'utf8')).toBe('precious')
    }
  })
})
