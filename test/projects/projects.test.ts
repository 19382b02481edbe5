import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { slugOf } from '../../daemon/projects/memory-dir.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { callerVariables } from '../../schema/caller.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'
import { makeWorkshop, withoutRights } from './repositories.ts'

beforeEach((context) => needPrograms(context, 'git'))

type Options = { env?: Environment; settings?: Record<string, unknown>; nowMs?: number }

/** Long after every file was written, so that answers are kept from the first call on. */
async function makeProjects({ env, settings, nowMs = Date.now() + 60_000 }: Options = {}) {
  const workshop = makeWorkshop()
  const { dir } = workshop
  const policyFile = join(dir, 'policy.json')
  const opened = await testCore({
    home: workshop.home,
    time: manualTime(nowMs),
    ...(env && { env }),
    ...(settings && { settings }),
  })
  const projects = createProjects(opened.core, policyFile)
  const locate = (cwd: string, callerEnv: Environment = {}) => projects.find(cwd, { actor: 'user', env: callerEnv })
  const defaultOf = (root: string) => ({
    root,
    dir: join(dir, '.claude/projects', slugOf(root), 'memory'),
    source: 'default',
  })
  return { ...workshop, ...opened, policyFile, projects, locate, defaultOf }
}

describe('a location', () => {
  it('is one for a repository, its folders and all its worktrees', async () => {
    const { dir, git, repository, locate, defaultOf } = await makeProjects()
    const root = repository('repo')
    mkdirSync(join(root, 'sub'))
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    for (const cwd of ['repo', 'repo/sub', 'wt']) expect(locate(join(dir, cwd))).toEqual(defaultOf(root))
  })

  it('follows the caller’s environment before the daemon’s own, variable by variable', async () => {
    const { locate } = await makeProjects({
      env: { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/own/m', CLAUDE_CODE_SIMPLE: '1', CLAUDE_CONFIG_DIR: '/own/config' },
    })
    const off = 'CLAUDE_CODE_SIMPLE is set'
    const own = { root: '/p/x', dir: '/own/m', source: 'override', off }
    expect(locate('/p/x')).toEqual(own)
    expect(locate('/p/x', {})).toEqual(own)
    expect(locate('/p/x', { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '' })).toEqual(own)
    expect(locate('/p/x', { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/caller/m', CLAUDE_CODE_SIMPLE: '0' })).toEqual({
      ...own,
      dir: '/caller/m',
      off: undefined,
    })
    expect(locate('/p/x')).toEqual(own)
  })

  it('hears only the variables it knows', async () => {
    const { locate, defaultOf } = await makeProjects()
    expect(locate('/p/x', { HOME: '/other', PATH: '/x', autoMemoryDirectory: '/m/x' })).toEqual(defaultOf('/p/x'))
    const odd = { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: 7, CLAUDE_CONFIG_DIR: ['/m/x'] } as unknown as Environment
    expect(locate('/p/x', odd)).toEqual(defaultOf('/p/x'))
    expect(callerVariables).toHaveLength(11)
  })

  it('reads the user’s settings from where the caller keeps them', async () => {
    const { dir, write, locate } = await makeProjects()
    write(join(dir, 'config/settings.json'), { autoMemoryDirectory: '~/mine' })
    expect(locate('/p/x', { CLAUDE_CONFIG_DIR: join(dir, 'config') })).toMatchObject({
      dir: join(dir, 'mine'),
      source: 'user',
    })
  })

  it('is never moved by what a repository brings', async () => {
    const { dir, git, repository, write, locate, defaultOf } = await makeProjects()
    const root = repository('hostile')
    for (const name of ['settings.json', 'settings.local.json'])
      write(join(root, '.claude', name), { autoMemoryDirectory: '~/.ssh', autoMemoryEnabled: true })
    git(root, 'add', '-f', '.')
    git(root, 'commit', '-qm', 'gift')
    git(dir, 'clone', '-q', root, 'clone')
    expect(locate(root)).toEqual(defaultOf(root))
    expect(locate(join(dir, 'clone'))).toEqual(defaultOf(join(dir, 'clone')))
    write(join(dir, 'clone/.claude/settings.json'), { autoMemoryEnabled: false })
    expect(locate(join(dir, 'clone'))).toEqual({
      ...defaultOf(join(dir, 'clone')),
      off: 'autoMemoryEnabled is false in committed settings',
    })
  })

  it('creates nothing', async () => {
    const { repository, locate } = await makeProjects()
    const { dir } = locate(repository('repo'))
    expect(() => realpathSync(dir)).toThrow('ENOENT')
  })

  it('needs a working directory that can be one', async () => {
    const { locate } = await makeProjects()
    for (const cwd of ['', 'a/b', '~', '/a\0b', `/${'a/'.repeat(5_000)}`])
      expect(() => locate(cwd)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }))
  })

  it('is found where every folder is closed', async () => {
    const { repository, locate } = await makeProjects()
    const root = repository('repo')
    // The test's home is closed to others, the default place for memories with it.
    const env = { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/srv/memories' }
    expect(withoutRights(() => locate(root, env))).toMatchObject({ root, dir: '/srv/memories' })
  })
})

describe('a refused place', () => {
  it('is refused each time, and no longer once it is mended', async () => {
    const { dir, write, locate } = await makeProjects()
    const settings = join(dir, '.claude/settings.json')
    write(settings, { autoMemoryDirectory: '/etc' })
    for (let time = 0; time < 3; time++)
      expect(() => locate('/p/x')).toThrow(expect.objectContaining({ code: 'REFUSED', reason: 'path' }))
    write(settings, { autoMemoryDirectory: '/srv/memories' })
    expect(locate('/p/x').dir).toBe('/srv/memories')
  })

  it('is noticed behind links, also those that are made later or lead to what is not there yet', async () => {
    const { dir, locate } = await makeProjects()
    const env = { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: join(dir, 'a/memory') }
    mkdirSync(join(dir, 'a'))
    expect(locate('/p/x', env).dir).toBe(join(dir, 'a/memory'))
    symlinkSync('/etc', join(dir, 'a/memory'))
    expect(() => locate('/p/x', env)).toThrow('leads to "/etc"')
    rmSync(join(dir, 'a/memory'))
    symlinkSync('/not-there-yet', join(dir, 'a/memory'))
    expect(() => locate('/p/x', env)).toThrow('leads to "/not-there-yet"')
    rmSync(join(dir, 'a'), { recursive: true })
    symlinkSync('/', join(dir, 'a'))
    expect(() => locate('/p/x', env)).toThrow('leads to "/memory"')
    rmSync(join(dir, 'a'))
    symlinkSync('a', join(dir, 'a'))
    expect(() => locate('/p/x', env)).toThrow('cannot be resolved')
  })
})

describe('a kept answer', () => {
  it('is given again while nothing changed', async () => {
    const { git, repository, locate } = await makeProjects()
    const root = repository('repo')
    const first = locate(root)
    git(root, 'commit', '-q', '--allow-empty', '-m', 'second')
    expect(locate(root)).toBe(first)
    expect(locate(root, { CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES: 'be brief' })).toBe(first)
    expect(Object.isFrozen(first)).toBe(true)
  })

  it('is not kept while a file it rests on is so young that its stamp could hide a change', async () => {
    const { dir, write, locate } = await makeProjects({ nowMs: Date.now() })
    const settings = join(dir, '.claude/settings.json')
    for (const name of ['one', 'two', 'six', 'ten', 'odd', 'few']) {
      write(settings, { autoMemoryDirectory: `/m/${name}` })
      expect(locate('/p/x').dir).toBe(`/m/${name}`)
    }
  })

  it('ends when a repository is made around it, inside it or taken away', async () => {
    const { dir, git, locate, defaultOf } = await makeProjects()
    const folder = join(dir, 'a/b')
    mkdirSync(folder, { recursive: true })
    expect(locate(folder)).toEqual(defaultOf(folder))
    git(dir, 'init', '-q', 'a')
    expect(locate(folder)).toEqual(defaultOf(join(dir, 'a')))
    git(dir, 'init', '-q', 'a/b')
    expect(locate(folder)).toEqual(defaultOf(folder))
    rmSync(join(folder, '.git'), { recursive: true })
    expect(locate(folder)).toEqual(defaultOf(join(dir, 'a')))
  })

  it('ends when a settings file comes, changes or goes', async () => {
    const { dir, policyFile, repository, write, locate, defaultOf } = await makeProjects()
    const root = repository('repo')
    const files = [join(dir, '.claude/settings.json'), join(root, '.claude/settings.local.json'), policyFile]
    const sources = ['user', 'local', 'policy']
    for (const [at, file] of files.entries()) {
      for (const name of ['one', 'three']) {
        write(file, { autoMemoryDirectory: `/m/${name}` })
        expect(locate(root)).toEqual({ ...defaultOf(root), dir: `/m/${name}`, source: sources[at] })
      }
    }
    for (const file of files) rmSync(file)
    expect(locate(root)).toEqual(defaultOf(root))
  })

  it('ends when git starts to track the local settings, or a branch brings others', async () => {
    const { git, repository, write, locate, defaultOf } = await makeProjects()
    const root = repository('repo')
    const local = join(root, '.claude/settings.local.json')
    write(local, { autoMemoryDirectory: '/m/mine' })
    expect(locate(root).dir).toBe('/m/mine')
    git(root, 'checkout', '-qb', 'tracked')
    git(root, 'add', '-f', local)
    expect(locate(root)).toEqual(defaultOf(root))
    write(join(root, '.claude/settings.json'), { autoMemoryEnabled: false })
    git(root, 'add', '.')
    git(root, 'commit', '-qm', 'settings')
    expect(locate(root).off).toBe('autoMemoryEnabled is false in committed settings')
    git(root, 'checkout', '-q', 'main')
    expect(locate(root)).toEqual(defaultOf(root))
    write(local, { autoMemoryDirectory: '/m/mine' })
    expect(locate(root).dir).toBe('/m/mine')
  })

  it('ends when a worktree loses its main repository, or a link leads elsewhere', async () => {
    const { dir, git, repository, locate, defaultOf } = await makeProjects()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    symlinkSync(join(dir, 'wt'), join(dir, 'link'))
    expect(locate(join(dir, 'link'))).toEqual(defaultOf(root))
    renameSync(root, join(dir, 'moved'))
    expect(locate(join(dir, 'link'))).toEqual(defaultOf(join(dir, 'wt')))
    rmSync(join(dir, 'link'))
    symlinkSync(join(dir, 'moved'), join(dir, 'link'))
    expect(locate(join(dir, 'link'))).toEqual(defaultOf(join(dir, 'moved')))
  })

  it('is the one a restarted daemon would give, after any changes', async () => {
    const { dir, git, repository, write, locate, policyFile, core } = await makeProjects()
    const root = repository('repo')
    repository('repo/nested')
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    const cwds = [root, join(root, 'sub'), join(root, 'nested'), join(dir, 'wt'), join(dir, 'other')]
    const files = [
      join(dir, '.claude/settings.json'),
      ...cwds.flatMap((cwd) => ['settings.json', 'settings.local.json'].map((name) => join(cwd, '.claude', name))),
    ]
    // No two of them are of one length: within one tick of the file system's clock nothing else would tell them apart.
    const value = fc.record(
      { autoMemoryDirectory: fc.constantFrom('/m/a', '/m/bcd', '~/m/long'), autoMemoryEnabled: fc.boolean() },
      { requiredKeys: [] },
    )
    const file = fc.constantFrom(...files)
    const change = fc.oneof(
      fc.tuple(file, value).map(
        ([path, content]) =>
          () =>
            void write(path, content),
      ),
      file.map((path) => () => rmSync(path, { force: true })),
      fc.constantFrom(...cwds).map((cwd) => () => void git(dir, 'init', '-q', cwd)),
      fc.constant(() => void git(root, 'add', '-A', '-f', write(join(root, '.claude/any'), 'x'), '.claude')),
      fc.constant(() => void git(root, 'rm', '-rfq', '--cached', '--ignore-unmatch', '.claude')),
    )
    fc.assert(
      fc.property(fc.array(change, { maxLength: 5 }), (changes) => {
        for (const apply of changes) apply()
        const fresh = createProjects(core, policyFile)
        for (const cwd of cwds) expect(locate(cwd)).toEqual(fresh.find(cwd, { actor: 'user', env: {} }))
      }),
      { numRuns: 60 },
    )
  })
})

describe('pauses and private folders', () => {
  it('know a folder by one name, whichever way it was given', async () => {
    const { dir, projects } = await makeProjects()
    mkdirSync(join(dir, 'real'))
    symlinkSync(join(dir, 'real'), join(dir, 'link'))
    projects.pause(join(dir, 'link'))
    projects.pause(`${join(dir, 'real')}/../real/`)
    expect(projects.paused()).toEqual({ all: false, projects: [join(dir, 'real')] })
    expect(projects.resume(join(dir, 'link'))).toEqual({ all: false, projects: [] })
  })

  it('name a folder private by whatever way it is reached, and its neighbours not', async () => {
    const home = makeHome()
    const { dir } = home
    mkdirSync(join(dir, 'real/secret/deep'), { recursive: true })
    symlinkSync(join(dir, 'real'), join(dir, 'link'))
    const { core } = await testCore({ home, settings: { private: [`${join(dir, 'link/secret')}/`] } })
    const projects = createProjects(core)
    const because = (cwd: string) => projects.offBecause(join(dir, cwd))
    const words = `${join(dir, 'link/secret')}/ is private`
    for (const cwd of ['real/secret', 'link/secret', 'real/secret/deep', 'link/secret/gone'])
      expect([cwd, because(cwd)]).toEqual([cwd, words])
    for (const cwd of ['real', 'real/secrets', 'other']) expect([cwd, because(cwd)]).toEqual([cwd, undefined])
  })

  it('take a folder that is not there by the name it was given', async () => {
    const { projects } = await makeProjects()
    expect(projects.pause('/gone//away/').projects).toEqual(['/gone/away'])
  })

  it('refuse to resume below a paused folder, but not beside it', async () => {
    const { dir, projects } = await makeProjects()
    projects.pause(`${dir}/b`)
    expect(() => projects.resume(`${dir}/b/c`)).toThrow(`${dir}/b/c stays paused because ${dir}/b is paused`)
    expect(projects.resume(`${dir}/bc`)).toEqual({ all: false, projects: [`${dir}/b`] })
  })

  it('treat the root as everywhere', async () => {
    const { projects } = await makeProjects()
    expect(projects.pause('/')).toEqual({ all: true, projects: [] })
    expect(projects.resume(undefined)).toEqual({ all: false, projects: [] })
  })
})
