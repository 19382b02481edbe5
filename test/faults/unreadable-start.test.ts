import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import { memoryd } from '../support/cli.ts'
import { launch } from '../support/daemon.ts'
import { overwritePage, pageWith } from '../support/damage.ts'
import { faultsIn } from '../support/faults.ts'
import { type Home, makeHome } from '../support/home.ts'
import { type DaemonHere, startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { append, genericRoot, turn } from '../support/transcripts.ts'

const MEMORIES = 30
const SESSIONS = 20
type Asked = Pick<DaemonHere, 'client'>

const PATIENCE = { timeout: 20_000, interval: 20 }

const setAside = ({ places }: Home) => {
  const folder = join(places.stateDir, 'corrupt')
  return existsSync(folder) ? readdirSync(folder) : []
}

/** What a daemon leaves that knew some memories and some sessions: databases of many pages, or of many frames in their WAL. */
async function ground(context: TestContext, end: 'stop' | 'kill9') {
  const home = makeHome()
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  for (let n = 0; n < SESSIONS; n++)
    append(join(root, `${n}.jsonl`), { type: 'session', id: `s${n}`, cwd }, ...turn(`lighthouse-${n}`))
  const faults = faultsIn(context, home)
  const own = end === 'kill9' ? await faults.start() : undefined
  const daemon = own ?? (await startDaemon(home))
  for (let n = 0; n < MEMORIES; n++)
    await daemon.client.putMemory({ cwd, file: `n${n}.md`, content: topic(`Number ${n}. ${'word '.repeat(400)}`) })
  const sessions = async ({ client }: Asked) => (await client.sessions({ cwd, limit: '999' })).items.length
  await expect.poll(() => sessions(daemon), PATIENCE).toBe(SESSIONS)
  await (own ? own.kill9() : daemon.stop())
  const history = join(home.places.stateDir, 'history.db')
  const index = join(home.places.stateDir, 'index.db')
  const known = async ({ client }: Asked) => {
    const { items } = await client.changes({ cwd, limit: '999' })
    return items.filter(({ actor }) => actor === 'agent:api').length
  }
  /** What a start finds once the disk is well needs no process. */
  const startWell = () => startDaemon(home, { lastStop: 'unclean' })
  return { ...faults, history, index, known, sessions, startWell }
}

describe('a disk that fails while a database is read', () => {
  it.for([
    ['history.db', 'stop'],
    ['history.db-wal', 'kill9'],
    ['index.db', 'stop'],
    ['index.db-wal', 'kill9'],
  ] as const)(
    'keeps a daemon from starting, says which file, %s, and changes nothing',
    async ([name, end], context) => {
      const { home, fail, heal, startWell, known, sessions } = await ground(context, end)
      const file = join(home.places.stateDir, name)
      const before = readFileSync(file)
      fail({ calls: 'read', ends: `/${name}`, error: 'EIO', times: 'lasting' })
      const { code, stderr } = await launch(home).exited
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`/${name} cannot be read (EIO`) })
      expect(stderr).toContain('check its disk')
      expect(stderr).not.toContain('    at ')
      expect(readFileSync(file).equals(before)).toBe(true)
      expect(setAside(home)).toEqual([])
      heal()
      const daemon = await startWell()
      expect(await known(daemon)).toBe(MEMORIES)
      expect(await sessions(daemon)).toBe(SESSIONS)
      expect((await daemon.client.status()).errors).toEqual([])
      expect(setAside(home)).toEqual([])
    },
  )

  it.for([
    [2, 1],
    [4, 1],
    [2, 'lasting'],
    [4, 'lasting'],
  ] as const)('is no damage of index.db: from read %i on, %s', async ([first, times], context) => {
    const { home, fail, heal, start, sessions } = await ground(context, 'stop')
    const fault = fail({ calls: 'read', ends: '/index.db', error: 'EIO', first, times })
    if (times === 'lasting') {
      await start().then(
        (begun) => begun.kill9(),
        () => {},
      )
      expect(setAside(home)).toEqual([])
      heal()
    }
    // Where what failed cannot be done again, the next start does it.
    const daemon = await start().catch(start)
    await expect.poll(fault.hits, PATIENCE).toBeGreaterThan(0)
    expect(await sessions(daemon)).toBe(SESSIONS)
    expect(setAside(home)).toEqual([])
  })

  it.for([
    ['read', 'history-2020-01-01.db'],
    ['stat', 'backups'],
  ] as const)(
    'lets no history begin anew beside a backup that it does not give: %s of %s',
    async ([calls, ends], context) => {
      const { home, history, fail, heal, start, startWell, known } = await ground(context, 'stop')
      const copy = join(home.places.stateDir, 'backups', 'history-2020-01-01.db')
      cpSync(history, copy)
      for (const name of readdirSync(join(copy, '..'))) if (!copy.endsWith(name)) rmSync(join(copy, '..', name))
      rmSync(history)
      fail({ calls, ends: `/${ends}`, error: 'EIO', times: 'lasting' })
      await expect(start()).rejects.toThrow(/EIO.*\n?.*doctor/)
      expect(existsSync(history)).toBe(false)
      heal()
      const daemon = await startWell()
      expect(await known(daemon)).toBe(MEMORIES)
    },
  )

  it('takes no row from the repair of a history that is really damaged', async (context) => {
    const { home, history, fail, heal, start, startWell, known } = await ground(context, 'stop')
    overwritePage(history, pageWith(history, 'Number 15. '))
    const before = join(home.dir, 'before')
    const put = (from: string, to: string) => {
      rmSync(to, { recursive: true, force: true })
      cpSync(from, to, { recursive: true })
      chmodSync(to, 0o700)
    }
    put(home.places.stateDir, before)
    const reads = fail({ calls: 'read', ends: '/history.db' })
    const whole = await start()
    const salvaged = await known(whole)
    await whole.stop()
    expect(salvaged).toBeGreaterThan(0)
    for (const part of [0.3, 0.5, 0.6, 0.7, 0.8, 0.9]) {
      heal()
      put(before, home.places.stateDir)
      fail({
        ...{ calls: 'read', ends: '/history.db', error: 'EIO', times: 'lasting' },
        first: Math.round(part * reads.seen()),
      })
      await start().then(
        (begun) => begun.kill9(),
        () => {},
      )
      heal()
      const daemon = await startWell()
      expect(await known(daemon)).toBe(salvaged)
      await daemon.stop()
    }
  })

  it('is what doctor finds, and no damage', async (context) => {
    const { home, history, index, fail } = await ground(context, 'stop')
    fail({ calls: 'read', within: '.db', first: 4, error: 'EIO', times: 'lasting' })
    const { code, stdout } = await memoryd(home, 'doctor', '--json')
    expect(code).toBe(1)
    for (const [check, file] of [
      ['history.db', history],
      ['index.db', index],
    ])
      expect(JSON.parse(stdout).findings).toContainEqual({
        check,
        state: 'problem',
        message: expect.stringContaining(`${file} cannot be read (EIO`),
        remedy: expect.stringContaining('its disk is well'),
      })
    expect(stdout).not.toContain('damaged')
    expect(stdout).not.toContain('delete')
  })
})

describe('the look through index.db after an unclean stop', () => {
  const read = { calls: 'read', within: '/index.db', thread: 'other', error: 'EIO' } as const

  it.for([2, 5, 9])('takes no failing read for damage: once, read %i', async (first, context) => {
    const { home, fail, start, startWell, sessions } = await ground(context, 'kill9')
    const fault = fail({ ...read, first })
    const daemon = await start()
    await expect.poll(fault.hits, PATIENCE).toBe(1)
    await daemon.stop()
    expect(setAside(home)).toEqual([])
    expect(await sessions(await startWell())).toBe(SESSIONS)
  })

  it('waits for the disk, says so, and finds what is really damaged then', async (context) => {
    const { home, index, fail, heal, start, sessions } = await ground(context, 'stop')
    await (await start()).kill9()
    overwritePage(index, pageWith(index, 'q-lighthouse-7'))
    const fault = fail({ ...read, times: 'lasting' })
    const daemon = await start()
    await expect
      .poll(async () => (await daemon.client.status()).reasons, PATIENCE)
      .toContainEqual(
        expect.objectContaining({ code: 'disk', message: expect.stringContaining('index.db cannot be read') }),
      )
    expect(fault.hits()).toBeGreaterThan(0)
    expect(setAside(home)).toEqual([])
    // To read a file beside SQLite and close it would drop the lock that keeps other programs from taking its WAL away.
    expect(readFileSync('/proc/locks', 'utf8')).toMatch(new RegExp(`READ +${daemon.pid} .*:${statSync(index).ino} `))
    heal()
    await daemon.logged('index.db was damaged')
    expect(setAside(home)).toContainEqual(expect.stringMatching(/^index-.*\.db$/))
    await expect.poll(() => sessions(daemon), PATIENCE).toBe(SESSIONS)
  })
})
