import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { closeDatabase, openDatabase } from '../../daemon/db/database.ts'
import { cliMain, memoryd } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { overwritePage } from '../support/damage.ts'
import { type Home, makeHome } from '../support/home.ts'

/** Their long names make several pages of a few rows. */
const PROJECTS = 60
const folder = (n: number) => `/${'long'.repeat(100)}/${n}`

const used = mkdtempSync(join(tmpdir(), 'md-used-'))
afterAll(() => rmSync(used, { recursive: true }))

/** What a daemon has left that was stopped: a history of several pages, with a backup from before its last rows. */
async function makeUsedState(): Promise<void> {
  const home = makeHome()
  // It makes the day's backup, of a history that knows of nothing yet.
  await (await startDaemon(home)).stop()
  const daemon = await startDaemon(home)
  await Promise.all(Array.from({ length: PROJECTS }, (_, n) => daemon.client.pause({ cwd: folder(n) })))
  await daemon.stop()
  cpSync(home.places.stateDir, used, { recursive: true })
}

async function usedHome(end: 'stop' | 'kill9'): Promise<Home> {
  if (readdirSync(used).length === 0) await makeUsedState()
  const home = makeHome()
  mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
  cpSync(used, home.places.stateDir, { recursive: true })
  await (await startDaemon(home))[end]()
  return home
}

const file = (home: Home, name: string) => join(home.places.stateDir, name)

describe('a damaged database', () => {
  it('is explained by doctor, set aside and restored at the next start, and the daemon runs', async () => {
    const home = await usedHome('stop')
    overwritePage(file(home, 'history.db'), 4)
    const sick = await memoryd(home, 'doctor', '--json')
    expect(sick.code).toBe(1)
    expect(JSON.parse(sick.stdout).findings).toContainEqual({
      check: 'history.db',
      state: 'problem',
      message: expect.stringContaining('damaged'),
      remedy: expect.stringContaining('memoryd restart'),
    })
    const daemon = await startDaemon(home)
    const status = await daemon.client.status()
    expect(status).toMatchObject({
      state: 'ready',
      errors: [{ code: 'store', message: expect.stringContaining('history.db') }],
    })
    expect(status.paused.projects.length).toBeGreaterThan(PROJECTS / 2)
    expect(await memoryd(home, 'doctor')).toMatchObject({ code: 0 })
  })

  it('that is only the index is noticed in the background after an unclean stop and begun anew', async () => {
    const home = await usedHome('kill9')
    // Behind the first page, which is read when the file is opened: only a look through the whole file finds this.
    const db = openDatabase(file(home, 'index.db'))
    db.exec('CREATE TABLE filler (x TEXT); INSERT INTO filler VALUES (hex(randomblob(20000)))')
    closeDatabase(db)
    overwritePage(file(home, 'index.db'), 2)
    const daemon = await startDaemon(home)
    await daemon.logged('index.db was damaged')
    expect(await daemon.client.status()).toMatchObject({ state: 'ready' })
    expect((await daemon.client.status()).paused.projects).toHaveLength(PROJECTS)
    expect(await memoryd(home, 'doctor')).toMatchObject({ code: 0 })
  })

  it('of a newer version is refused and left as it is', async () => {
    const home = await usedHome('stop')
    const db = openDatabase(file(home, 'history.db'))
    db.pragma('user_version = 77')
    db.pragma('journal_mode = DELETE')
    db.close()
    const before = readFileSync(file(home, 'history.db'))
    const { code, stderr } = await memoryd(home, 'start')
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('schema 77') })
    expect((await memoryd(home, 'doctor')).stdout).toContain('written by a newer memoryd')
    // Opening switches the file to WAL, which is noted in two bytes of its header; nothing else may change.
    const after = readFileSync(file(home, 'history.db'))
    expect(after.subarray(100).equals(before.subarray(100))).toBe(true)
  })

  it('can be put back by hand from a backup while no daemon runs, and the file before it is kept', async () => {
    const home = await usedHome('stop')
    const daemon = await startDaemon(home)
    expect(await memoryd(home, 'doctor', '--restore')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`memoryd runs (pid ${daemon.pid})`),
    })
    await daemon.stop()
    const done = await memoryd(home, 'doctor', '--restore', '--json')
    expect(done.code).toBe(0)
    expect(existsSync(JSON.parse(done.stdout).setAside)).toBe(true)
    const again = await startDaemon(home)
    // The backup was made before anything was paused.
    expect((await again.client.status()).paused.projects).toEqual([])
  })
})

describe('doctor in a broken set-up', () => {
  const findings = async (home: Home) => {
    const { code, stdout } = await memoryd(home, 'doctor', '--json')
    return {
      code,
      problems: JSON.parse(stdout).findings.filter((finding: { state: string }) => finding.state !== 'ok'),
    }
  }

  it('explains a stale socket', async () => {
    const home = makeHome()
    await (await startDaemon(home)).kill9()
    const { code, problems } = await findings(home)
    expect(code).toBe(0)
    expect(problems[0]).toMatchObject({
      check: 'socket',
      message: expect.stringContaining('stale'),
      remedy: expect.stringContaining('memoryd start'),
    })
  })

  it('explains a socket that was deleted under a running daemon', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    rmSync(home.places.socketPath)
    const { code, problems } = await findings(home)
    expect(code).toBe(1)
    expect(problems[0]).toMatchObject({
      check: 'socket',
      message: expect.stringContaining(`pid ${daemon.pid}`),
      remedy: 'memoryd restart',
    })
  })

  it('explains a wrong configuration and an open folder', async () => {
    const home = makeHome()
    await (await startDaemon(home)).stop()
    chmodSync(home.places.stateDir, 0o755)
    writeFileSync(home.places.configFile, '{"recall":{"k":0}}')
    const { code, problems } = await findings(home)
    expect(code).toBe(1)
    expect(problems).toMatchObject([
      {
        check: 'configuration',
        message: expect.stringContaining('recall.k: Too small: expected number to be >=1, got 0'),
      },
      { check: 'state folder', remedy: `chmod 700 ${home.places.stateDir}` },
      { check: 'daemon' },
    ])
  })

  it('explains a home where it may not write', async ({ skip }) => {
    if (process.getuid?.() !== 0) return skip('only root can become another user')
    const home = makeHome()
    mkdirSync(join(home.dir, '.local', 'state'), { recursive: true })
    for (const folder of ['.', '.local', '.local/state', '.config', '.config/memoryd'])
      chmodSync(join(home.dir, folder), 0o755)
    mkdirSync(home.places.stateDir, { mode: 0o700 })
    const other = ['--reuid=4243', '--regid=4243', '--clear-groups', process.execPath, cliMain, 'doctor']
    const { status, stdout, stderr } = spawnSync('setpriv', other, {
      env: home.env as NodeJS.ProcessEnv,
      encoding: 'utf8',
    })
    if (stderr.includes('EACCES') && stdout === '') return skip('the checkout cannot be read by another user')
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' })
    expect(stdout).toContain(`state folder: ${home.places.stateDir} belongs to uid 0, not to you`)
  })

  it('forgets an unclean stop only when a start has looked after it', async () => {
    const home = makeHome()
    await (await startDaemon(home)).kill9()
    writeFileSync(home.places.configFile, '{"log":1}')
    expect(await memoryd(home, 'start')).toMatchObject({ code: 5 })
    rmSync(home.places.configFile)
    const daemon = await startDaemon(home)
    expect(await daemon.logged('memoryd is ready')).toContain('lastStop=unclean')
    await daemon.stop()
    const again = await startDaemon(home)
    expect(await again.logged('memoryd is ready')).toContain('lastStop=clean')
  })

  it('finds nothing wrong with an empty home', async () => {
    expect(await findings(makeHome())).toMatchObject({ code: 0, problems: [{ check: 'daemon', state: 'warning' }] })
  })
})
