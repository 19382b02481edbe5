import { spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import type { Event } from '../../schema/event.ts'
import type { OneJob } from '../../schema/job.ts'
import { cliMain, memoryd } from '../support/cli.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

type Job = Extract<Event, { type: 'job' }>

const fixtures = fileURLToPath(new URL('../fixtures/transcripts', import.meta.url))

function folderIn(home: Home, name: string): string {
  const dir = join(home.dir, name)
  mkdirSync(dir, { recursive: true })
  return dir
}

/** How many transcripts of each harness there are; the folders are named after them. */
function recorded(): Record<string, number> {
  const files = readdirSync(fixtures, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path.endsWith('.jsonl') && statSync(path).size > 0)
  const harnesses = ['claude-code', 'codex', 'gemini', 'pi']
  return Object.fromEntries(
    harnesses.map((name) => [name, files.filter((path) => path.startsWith(join(fixtures, name))).length]),
  )
}

/** Begins an import, and gives its news until it is over. */
async function imported(client: StrictClient, dir: string, onNews: (job: Job) => unknown = () => {}): Promise<OneJob> {
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  const { jobId } = await client.importTranscripts({ dir })
  for (let next = await events.next(); !next.done; next = await events.next()) {
    if (next.value.type !== 'job' || next.value.id !== jobId) continue
    await onNews(next.value)
    if (next.value.state === 'done') return client.job({ id: jobId })
  }
  throw new Error('the daemon stopped')
}

const rows = (home: Home, sql: string) => {
  const db = new Database(join(home.places.stateDir, 'index.db'), { readonly: true })
  const all = db.prepare(sql).raw().all()
  db.close()
  return all
}

describe('memoryd import', () => {
  it('reads the transcripts of all harnesses in a folder, once', async () => {
    const home = makeHome()
    genericRoot(home)
    const dir = folderIn(home, 'backup/of/everything')
    cpSync(fixtures, dir, { recursive: true })
    append(join(dir, 'mine', 's.jsonl'), { type: 'session', id: 's', cwd: home.dir }, ...turn('one'))
    writeFileSync(join(dir, 'mine', 'points.jsonl'), '{"x":1}\n{"x":2}\n')
    writeFileSync(join(dir, 'mine', 'empty.jsonl'), '')
    writeFileSync(join(dir, 'mine', 'broken.jsonl'), '{"type":"user","text":"a"}\n{"type":\n')
    symlinkSync(join(dir, 'mine', 's.jsonl'), join(dir, 'mine', 'link.jsonl'))
    const daemon = await startDaemon(home)
    const { code, stdout, stderr } = await memoryd(home, 'import', dir, '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const told = JSON.parse(stdout)
    expect(told).toMatchObject({ dir, known: 0, left: { empty: 5, link: 1, unrecognised: 1 }, skipped: { broken: 1 } })
    expect([told.doneFiles, told.doneBytes, told.read]).toEqual([told.files, told.bytes, told.files - 7])
    const found = Object.fromEntries(rows(home, 'SELECT harness, count(*) FROM files GROUP BY harness') as never)
    expect(found).toEqual({ ...recorded(), generic: 2 })
    expect(rows(home, 'SELECT count(*) FROM sessions')).toEqual([[told.sessions]])
    expect(await daemon.client.session({ id: 's' })).toMatchObject({ turns: 1, cwd: home.dir })

    const again = await memoryd(home, 'import', dir)
    expect(again).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'read 0 files: 0 sessions, 0 turns',
        `${told.read} files had been read before`,
        'left 5 files: empty',
        'left 1 file: links are not followed',
        'left 1 file: not a transcript, as far as one can tell\n',
      ].join('\n'),
    })
    await daemon.stop()
  })

  it('takes no file of a watched root for another one, by whatever way it comes to it', async () => {
    const home = makeHome()
    const root = genericRoot(home)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    append(join(root, 'sub', 's.jsonl'), { type: 'session', id: 's', cwd: home.dir }, ...turn('one'))
    await turns.take(1)
    const link = join(home.dir, 'link')
    symlinkSync(root, link)
    for (const dir of [join(root, 'sub'), root, link, join(link, 'sub')])
      expect(await imported(daemon.client, dir)).toMatchObject({ state: 'done', result: { read: 0, known: 1 } })
    expect(rows(home, 'SELECT path, root FROM files')).toEqual([[join(root, 'sub', 's.jsonl'), root]])
    append(join(root, 'sub', 's.jsonl'), ...turn('two'))
    await turns.take(1)
    expect(await daemon.client.session({ id: 's' })).toMatchObject({ turns: 2 })
    await daemon.stop()
  })

  it('goes on after a kill, by itself and when it is asked again, and has everything once', async () => {
    const home = makeHome()
    genericRoot(home)
    const dir = folderIn(home, 'old')
    const text = 'x'.repeat(3_000)
    for (let file = 0; file < 40; file++)
      append(
        join(dir, `${file}.jsonl`),
        { type: 'session', id: `${file}`, cwd: home.dir },
        ...Array.from({ length: 100 }, (_, n) => ({ type: 'user', id: `q${n}`, text: `${n} ${text}` })),
      )
    for (let round = 0; round < 2; round++) {
      const daemon = await startProcess(home)
      const killed = imported(daemon.client, dir, async (job) => {
        if ((job.import?.doneBytes ?? 0) > 0) await daemon.kill9()
      })
      await expect(killed).rejects.toThrow()
    }
    const daemon = await startProcess(home)
    expect(await imported(daemon.client, dir)).toMatchObject({ state: 'done', result: { files: 40, doneFiles: 40 } })
    expect(rows(home, 'SELECT count(*), count(DISTINCT session || uid) FROM messages')).toEqual([[4_000, 4_000]])
    await daemon.stop()
  })

  it('answers others meanwhile, and gives the same job to each caller that asks for the same folder', async () => {
    const home = makeHome()
    genericRoot(home)
    const dir = folderIn(home, 'old')
    const text = 'x'.repeat(3_000)
    for (let file = 0; file < 20; file++)
      append(
        join(dir, `${file}.jsonl`),
        ...Array.from({ length: 200 }, (_, n) => ({ type: 'user', text: `${n} ${text}` })),
      )
    const daemon = await startDaemon(home)
    const jobs = new Set<string>()
    let answered = 0
    const { id } = await imported(daemon.client, dir, async ({ state }) => {
      if (state !== 'running' || jobs.size > 0) return
      jobs.add((await daemon.client.importTranscripts({ dir: `${dir}/` })).jobId)
      if ((await daemon.client.health()).ok) answered++
    })
    expect(answered).toBeGreaterThan(0)
    expect([...jobs]).toEqual([id])
    await daemon.stop()
  })

  it('is read on when no caller waits any more', async () => {
    const home = makeHome()
    genericRoot(home)
    const dir = folderIn(home, 'old')
    const text = 'x'.repeat(3_000)
    for (let file = 0; file < 20; file++)
      append(
        join(dir, `${file}.jsonl`),
        ...Array.from({ length: 200 }, (_, n) => ({ type: 'user', text: `${n} ${text}` })),
      )
    const daemon = await startDaemon(home)
    const events = daemon.client.events()[Symbol.asyncIterator]()
    await events.next()
    const env = home.env as NodeJS.ProcessEnv
    const child = spawn(process.execPath, [cliMain, 'import', dir], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk))
    const exited = new Promise((resolve) => child.once('close', resolve))
    let last: Job | undefined
    for (let next = await events.next(); !next.done && last?.state !== 'done'; next = await events.next()) {
      if (next.value.type !== 'job' || next.value.kind !== 'import') continue
      if (!last) child.kill('SIGINT')
      last = next.value
      if (last.state === 'done') break
    }
    expect([await exited, said]).toEqual([130, expect.stringContaining('read on without you')])
    expect(await daemon.client.job({ id: last?.id ?? '' })).toMatchObject({
      state: 'done',
      result: { read: 20, turns: 4_000 },
    })
    await daemon.stop()
  })

  it('knows what was imported after index.db was deleted, and what has grown since at the next start', async () => {
    const home = makeHome()
    genericRoot(home)
    const dir = folderIn(home, 'old')
    const file = join(dir, 's.jsonl')
    append(file, { type: 'session', id: 's', cwd: home.dir }, ...turn('one'))
    const first = await startDaemon(home)
    await imported(first.client, dir)
    await first.stop()
    for (const tail of ['', '-wal', '-shm']) rmSync(join(home.places.stateDir, `index.db${tail}`), { force: true })
    append(file, ...turn('two'))
    const second = await startDaemon(home)
    await (await turnEvents(second.client)).take(1)
    expect(await second.client.session({ id: 's' })).toMatchObject({ turns: 2, gone: false })
    await second.stop()
  })

  it('says what is wrong with a folder that it does not read', async () => {
    const home = makeHome()
    const secret = folderIn(home, 'secret')
    genericRoot(home, { private: [secret] })
    const file = join(home.dir, 'a.jsonl')
    writeFileSync(file, '{}\n')
    const daemon = await startDaemon(home)
    symlinkSync(join(home.dir, 'nowhere'), join(home.dir, 'dangling'))
    symlinkSync(secret, join(home.dir, 'way-in'))
    const refusal = (dir: string) =>
      daemon.client.importTranscripts({ dir }).then(
        () => 'read',
        ({ code, reason }) => [code, reason].filter(Boolean).join(' '),
      )
    expect({
      missing: await refusal(join(home.dir, 'nowhere')),
      file: await refusal(file),
      dangling: await refusal(join(home.dir, 'dangling')),
      everything: await refusal('/'),
      state: await refusal(home.places.stateDir),
      inState: await refusal(join(home.places.stateDir, 'logs')),
      private: await refusal(secret),
      wayIn: await refusal(join(home.dir, 'way-in')),
      relative: await refusal('here'),
      nul: await refusal('/a\0b'),
      tooLong: await refusal(`/${'x'.repeat(300)}`),
    }).toEqual({
      missing: 'NOT_FOUND',
      file: 'BAD_REQUEST',
      dangling: 'NOT_FOUND',
      everything: 'REFUSED path',
      state: 'REFUSED path',
      inState: 'REFUSED path',
      private: 'REFUSED path',
      wayIn: 'REFUSED path',
      relative: 'BAD_REQUEST',
      nul: 'BAD_REQUEST',
      tooLong: 'BAD_REQUEST',
    })
    expect(await memoryd(home, 'import', join(home.dir, 'nowhere'))).toMatchObject({ code: 1, stdout: '' })
    expect(await memoryd(home, 'import')).toMatchObject({ code: 2, stdout: '' })
    expect(await memoryd(home, 'import', '')).toMatchObject({ code: 2, stdout: '' })
    expect(await memoryd(home, 'import', secret, '--memories', 'x')).toMatchObject({ code: 2, stdout: '' })
    await daemon.stop()
  })

  it('goes neither into private folders below nor into its own', async () => {
    const home = makeHome()
    const cwd = folderIn(home, 'work/project')
    const secret = folderIn(home, 'work/secret')
    genericRoot(home, { private: [secret] })
    append(join(secret, 'a.jsonl'), { type: 'session', id: 'a', cwd }, ...turn('hush'))
    append(join(home.dir, 'work', 'b.jsonl'), { type: 'session', id: 'b', cwd: secret }, ...turn('hush'))
    append(join(home.dir, 'work', 'c.jsonl'), { type: 'session', id: 'c', cwd }, ...turn('say'))
    append(join(home.places.stateDir, 'd.jsonl'), { type: 'session', id: 'd', cwd }, ...turn('own'))
    chmodSync(home.places.stateDir, 0o700)
    const daemon = await startDaemon(home)
    const { result } = await imported(daemon.client, home.dir)
    expect(result).toMatchObject({ files: 2, read: 2, sessions: 1, turns: 1, left: {} })
    expect(rows(home, 'SELECT session FROM sessions')).toEqual([['c']])
    await daemon.stop()
  })

  it('reads all files as those of the harness that is named', async () => {
    const home = makeHome()
    genericRoot(home)
    const dir = folderIn(home, 'odd')
    writeFileSync(join(dir, 'log.jsonl'), `{"kind":"odd"}\n${JSON.stringify({ type: 'user', text: 'one' })}\n`)
    const daemon = await startDaemon(home)
    const { stdout } = await memoryd(home, 'import', dir, '--harness', 'pi')
    expect(stdout).toBe('read 1 file: 0 sessions, 0 turns\nskipped 2 lines: of a kind that is not known\n')
    expect(readFileSync(home.places.logFile, 'utf8')).not.toContain('odd')
    await daemon.stop()
  })
})
