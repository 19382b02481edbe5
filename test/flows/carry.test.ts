import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tree } from '../support/carry.ts'
import { memoryd, memorydReading } from '../support/cli.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'

function project(home: Home, name: string) {
  const cwd = join(home.dir, name)
  mkdirSync(cwd, { recursive: true })
  const dir = join(home.dir, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), 'memory')
  const run = (...args: string[]) => memoryd({ ...home, dir: cwd }, ...args)
  const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  return { cwd, dir, run, json }
}

describe('a memory set', () => {
  it('goes from one home to another, and a second time changes nothing', async () => {
    const [here, there] = [makeHome(), makeHome()]
    await Promise.all([startDaemon(here), startDaemon(there)])
    const source = project(here, 'app')
    const target = project(there, 'work/app')
    await source.run('remember', 'The office is in Lisbon')
    const office = 'project_the_office_is_in_lisbon.md'
    writeFileSync(join(here.dir, 'editor'), '#!/bin/sh\nsed -i s/Lisbon/Porto/ "$1"\n', { mode: 0o755 })
    const editing = { ...here, dir: source.cwd, env: { ...here.env, EDITOR: join(here.dir, 'editor') } }
    await memoryd(editing, 'edit', office)
    await source.run('remember', 'The moon is made of cheese')
    await source.run('forget', 'project_the_moon_is_made_of_cheese.md', '--reject')

    const file = join(here.dir, 'memories.jsonl')
    expect(await source.run('export', '--out', file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`wrote 2 files and 1 rejection to ${file}`),
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(here.dir).filter((name) => name.endsWith('.tmp'))).toEqual([])
    const done = await target.json('import', '--memories', file)
    expect(done).toMatchObject({ created: [office, 'MEMORY.md'], changes: 0, tombstones: 1 })
    expect(tree(target.dir)).toEqual(tree(source.dir))
    expect((await target.run('why', office)).stdout).toContain('create by user: imported')
    expect((await target.run('remember', 'the moon is made of cheese!')).stderr).toContain('rejected')

    const settled = { files: tree(target.dir), history: (await target.run('history')).stdout }
    expect(await target.json('import', '--memories', file)).toEqual({
      created: [],
      skipped: [office, 'MEMORY.md'],
      renamed: [],
      refused: [],
      changes: 0,
      tombstones: 0,
    })
    expect({ files: tree(target.dir), history: (await target.run('history')).stdout }).toEqual(settled)
    expect(readdirSync(there.places.stateDir).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('goes through a pipe', async () => {
    const home = makeHome()
    await startDaemon(home)
    const [source, target] = [project(home, 'one'), project(home, 'two')]
    await source.run('remember', 'The office is in Lisbon')
    const { stdout } = await source.run('export')
    const { code } = await memorydReading({ ...home, dir: target.cwd }, stdout, 'import', '--memories', '-')
    expect(code).toBe(0)
    expect(tree(target.dir)).toEqual(tree(source.dir))
  })

  it('is taken in by a person only, and a file that is none is told with its line', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const { cwd, run, dir } = project(home, 'one')
    const lines = (async function* () {
      yield Buffer.from('{}\n')
    })()
    await expect(daemon.client.importMemories({ cwd, lines })).rejects.toMatchObject({ reason: 'permission' })
    await expect(daemon.client.moveProject({ from: '/nowhere', to: cwd })).rejects.toMatchObject({
      reason: 'permission',
    })
    writeFileSync(join(home.dir, 'bad'), '{}\n')
    expect(await run('import', '--memories', join(home.dir, 'bad'))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/line 1 of the file is not the header(.|\n)*nothing was imported/),
    })
    expect(await run('import', '--memories', join(home.dir, 'none'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot read'),
    })
    expect((await run('import')).code).toBe(2)
    expect(existsSync(dir)).toBe(false)
  })

  it('is written whole or not at all', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const { run } = project(home, 'one')
    await run('remember', 'The office is in Lisbon')
    expect(await run('export', '--out', join(home.dir, 'nowhere/out'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`cannot write to ${join(home.dir, 'nowhere')}: ENOENT`),
    })
    writeFileSync(join(home.dir, 'out'), 'before')
    await daemon.stop()
    expect((await run('export', '--out', join(home.dir, 'out'))).code).toBe(3)
    expect(readFileSync(join(home.dir, 'out'), 'utf8')).toBe('before')
    expect(readdirSync(home.dir).filter((name) => name.startsWith('out'))).toEqual(['out'])
  })
})

describe('a project that was moved', () => {
  it('is noticed by the doctor, and followed by its memories', async () => {
    const home = makeHome()
    await startDaemon(home)
    const old = project(home, 'app')
    await old.run('remember', 'The office is in Lisbon')
    await old.run('pause', '--project')
    const files = tree(old.dir)
    renameSync(old.cwd, join(home.dir, 'application'))
    const now = project(home, 'application')
    expect((await now.run('doctor')).stdout).toContain(`memoryd move ${old.cwd} <where it is now>`)
    expect(await now.run('move', old.cwd, '.')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`2 files of ${old.cwd} followed to ${now.dir}`),
    })
    expect(tree(now.dir)).toEqual(files)
    expect((await now.run('status')).stdout).toContain(now.cwd)
    expect((await now.run('doctor')).stdout).not.toContain('memoryd move')
    expect((await now.run('move', old.cwd, '.')).stderr).toContain('no memories are known')
  })

  it('is followed by its memories through a pipe where there are others already', async () => {
    const home = makeHome()
    await startDaemon(home)
    const old = project(home, 'app')
    await old.run('remember', 'The office is in Lisbon')
    renameSync(old.cwd, join(home.dir, 'application'))
    const now = project(home, 'application')
    await now.run('remember', 'The bakery is in Porto')
    const { code, stderr } = await now.run('move', old.cwd, '.')
    const hint = `memoryd export --project ${old.cwd} | memoryd import --memories - --project ${now.cwd}`
    expect([code, stderr]).toEqual([1, expect.stringContaining(hint)])
    const { stdout } = await now.run('export', '--project', old.cwd)
    const done = await memorydReading(home, stdout, 'import', '--memories', '-', '--project', now.cwd)
    expect(done.code).toBe(0)
    expect(Object.keys(tree(now.dir))).toEqual([
      'MEMORY.md',
      'project_the_bakery_is_in_porto.md',
      'project_the_office_is_in_lisbon.md',
    ])
  })
})
