import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { isUsable, listBackups, listCopies } from '../../daemon/db/backup.ts'
import { openForReading } from '../../daemon/db/database.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { cliMain, memoryd } from '../support/cli.ts'
import { type DaemonHere, startDaemon } from '../support/in-process.ts'
import { needPrograms } from '../support/programs.ts'
import { FILE, type Ground, makeGround, words } from '../support/purge-ground.ts'
import { missing, traces } from '../support/traces.ts'

const allWords = [...words, 'reviewword', 'saidword']

const topic = (body: string) => `---\nname: Other\ndescription: What is known\ntype: project\n---\n\n${body}\n`

/** The first thing a daemon does is to finish purges and to make today's backup, also when it is stopped before it has begun. */
async function startAndStop({ home }: Ground): Promise<void> {
  await (await startDaemon(home, { clock: createClock() })).stop()
}

/** A daemon that has the memory, and a client for a person. */
async function grounded() {
  const ground = makeGround()
  writeFileSync(ground.home.places.configFile, '{"review":"required"}')
  ground.seed()
  await startAndStop(ground)
  ground.copies()
  const daemon = await startDaemon(ground.home)
  const person = connect({ socket: ground.home.places.socketPath, strict: true, actor: 'user', deadlineMs: 30_000 })
  onTestFinished(person.close)
  const { cwd } = ground
  const { hash } = await person.memory({ cwd, file: FILE })
  await daemon.client.putMemory({ cwd, file: FILE, content: topic('It opens with reviewword.'), ifHash: hash })
  await expect(person.putMemory({ cwd, file: FILE, content: 'no shape' })).rejects.toMatchObject({ reason: 'shape' })
  await person.putMemory({ cwd, file: FILE, content: topic('It opens with saidword.'), reason: 'reasonword again' })
  await person.putMemory({ cwd, file: 'other_0.md', content: topic('Changed.'), reason: 'kept' })
  return { ...ground, daemon, person }
}

const inProject = ({ home, cwd }: Ground, ...args: string[]) => memoryd({ ...home, dir: cwd }, ...args)

describe('forget --purge', () => {
  it('leaves no byte of a memory in any file, says what it did, and leaves everything else', async () => {
    const ground = await grounded()
    const { home, cwd, dir, layout, person, daemon } = ground
    expect(missing(home.places.stateDir, allWords)).toEqual([])
    const copies = listCopies(layout)
    const before = (await person.changes({ cwd, limit: '999' })).items.filter(({ file }) => file !== FILE)

    const done = await inProject(ground, 'forget', FILE, '--purge', '--yes', '--reject')
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout.split('\n')).toEqual([
      expect.stringMatching(`^purged ${FILE}: 3 kept versions are gone, 5 backups were deleted; it cannot be undone$`),
      ...copies.map((copy) => `deleted ${copy}: it held some of it, or could not be read`),
      expect.stringMatching(/^what it said will not come back \(tombstone \d+\)$/),
      'sessions in which it was spoken of are kept by their own programs: delete those there',
      '',
    ])
    expect(traces(home.dir, allWords)).toEqual([])
    expect(listBackups(layout.backups).map(isUsable)).toEqual([true])

    const after = (await person.changes({ cwd, limit: '999' })).items.filter(({ file }) => !file.startsWith('purged-'))
    expect(after.map(({ evidence: _, ...change }) => change)).toEqual(
      before.map(({ evidence: _, ...change }) => change),
    )
    const edit = after.find(({ reason }) => reason === 'kept')
    await person.undoChange({ id: edit?.id ?? '' })
    expect(readFileSync(join(dir, 'other_0.md'), 'utf8')).toContain('other_0.md says 0.')
    await expect(
      person.putMemory({ cwd, file: 'again.md', content: topic('it opens with SAIDWORD!') }),
    ).rejects.toMatchObject({ reason: 'rejected-value' })
    expect((await inProject(ground, 'history')).stdout).toMatch(/delete {2}purged-\d+ {2}user: purged/)
    expect(await inProject(ground, 'forget', FILE, '--purge', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`there is no memory ${FILE}`),
    })

    await daemon.stop()
    expect(traces(home.dir, allWords)).toEqual([])
    for (const file of [layout.history, ...listBackups(layout.backups)]) {
      const db = openForReading(file)
      expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
      db.close()
    }
  })

  it('is needed for that: what is only forgotten is found in journal, WAL, backups and what was set aside', async () => {
    const ground = await grounded()
    const { home, layout } = ground
    expect(await inProject(ground, 'forget', FILE)).toMatchObject({ code: 0 })
    expect(missing(home.places.stateDir, allWords)).toEqual([])
    for (const folder of [layout.backups, layout.corrupt]) expect(missing(folder, words)).toEqual([])
  })

  it('that is not at its end keeps a backup from being put in place', async () => {
    const ground = makeGround()
    ground.seed()
    await startAndStop(ground)
    const { home, dir, layout } = ground
    const store = openDatabases(home.places.stateDir, Date.now())
    const purged = { at: 1, dir, file: FILE, op: 'delete', actor: 'user', reason: 'purged' } as const
    createJournal(store.history).append([
      {
        ...purged,
        runId: undefined,
        before: undefined,
        after: undefined,
        undoable: false,
        evidence: [],
        leaves: 'nothing',
      },
    ])
    store.close()
    expect(await memoryd(home, 'doctor', '--restore')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a memory is being purged'),
    })
    await startAndStop(ground)
    expect(traces(home.places.stateDir, words)).toEqual([])
    expect(await memoryd(home, 'doctor', '--restore')).toMatchObject({ code: 0 })
    expect(isUsable(layout.history)).toBe(true)
  })

  it('is not for agents, and not without being asked twice', async (context) => {
    needPrograms(context, 'python3')
    const ground = await grounded()
    const { home, cwd, dir, daemon } = ground
    await expect(daemon.client.forget({ cwd, file: FILE, purge: 'true' })).rejects.toMatchObject({
      code: 'REFUSED',
      reason: 'permission',
    })
    expect(await inProject(ground, 'forget', FILE, '--purge')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'memoryd: a purge cannot be undone, and there is no terminal to ask at\nadd --yes\n',
    })
    expect(await inProject(ground, 'forget', '--purge')).toMatchObject({ code: 2 })
    expect(missing(home.places.stateDir, allWords)).toEqual([])
    expect(await onTerminal(ground, 'n')).toContain('nothing was purged')
    expect(existsSync(join(dir, FILE))).toBe(true)
    expect(await onTerminal(ground, 'y')).toContain(`purged ${FILE}`)
    expect(traces(home.dir, allWords)).toEqual([])
    await stillAnswers(daemon)
  })
})

async function stillAnswers({ client }: DaemonHere): Promise<void> {
  expect(await client.status()).toMatchObject({ state: 'ready', reasons: [], errors: [] })
}

/** What the command says at a pseudo-terminal where a user types one answer. */
async function onTerminal({ home, cwd }: Ground, answer: string): Promise<string> {
  const script = [
    'import os, pty, signal, sys',
    'signal.alarm(30)',
    'pid, fd = pty.fork()',
    'if pid == 0: os.execv(sys.argv[2], sys.argv[2:])',
    'text = b""',
    'while b"cannot be undone. [y/N]" not in text: text += os.read(fd, 4096)',
    'os.write(fd, sys.argv[1].encode() + b"\\n")',
    'try:',
    '  while True: text += os.read(fd, 4096)',
    'except OSError: pass',
    'print(text.decode())',
  ].join('\n')
  const command = [process.execPath, cliMain, 'forget', FILE, '--purge']
  const options = { env: home.env as NodeJS.ProcessEnv, cwd }
  const { stdout } = await promisify(execFile)('python3', ['-c', script, answer, ...command], options)
  return stdout
}
