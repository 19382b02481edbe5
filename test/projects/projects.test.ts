import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { findProjectRoot } from '../../daemon/projects/git.ts'
import { slugOf } from '../../daemon/projects/memory-dir.ts'
import { createLocator, createPauses, createSwitches } from '../../daemon/projects/projects.ts'
import { callerVariables } from '../../schema/caller.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'
import { makeWorkshop, withoutRights } from './repositories.ts'

beforeEach((context) => needPrograms(context, 'git'))

/** Long after every file was written, so that answers are kept from the first call on. */
const later = { now: () => Date.now() + 60_000 }

function makeLocator(env: Environment = {}) {
  const workshop = makeWorkshop()
  const { dir } = workshop
  const policyFile = join(dir, 'policy.json')
  const { locate } = createLocator({ env, home: dir, policyFile, clock: later })
  const defaultOf = (root: string) => ({
    root,
    dir: join(dir, '.claude/projects', slugOf(root), 'memory'),
    source: 'default',
    memory: { on: true },
    madeFrom: expect.any(Array),
  })
  return { ...workshop, policyFile, locate, defaultOf }
}

describe('a location', () => {
  it('is one for a repository, its folders and all its worktrees', () => {
    const { dir, git, repository, locate, defaultOf } = makeLocator()
    const root = repository('repo')
    mkdirSync(join(root, 'sub'))
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    for (const cwd of ['repo', 'repo/sub', 'wt']) expect(locate(join(dir, cwd))).toEqual(defaultOf(root))
  })

  it('follows the caller’s environment before the daemon’s own, variable by variable', () => {
    const { locate } = makeLocator({
      CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/own/m',
      CLAUDE_CODE_SIMPLE: '1',
      CLAUDE_CONFIG_DIR: '/own/config',
    })
    const off = { on: false, because: 'CLAUDE_CODE_SIMPLE is set' }
    const own = { root: '/p/x', dir: '/own/m', source: 'override', memory: off, madeFrom: expect.any(Array) }
    expect(locate('/p/x')).toEqual(own)
    expect(locate('/p/x', {})).toEqual(own)
    expect(locate('/p/x', { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '' })).toEqual(own)
    expect(locate('/p/x', { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/caller/m', CLAUDE_CODE_SIMPLE: '0' })).toEqual({
      ...own,
      dir: '/caller/m',
      memory: { on: true },
      madeFrom: expect.any(Array),
    })
    expect(locate('/p/x')).toEqual(own)
  })

  it('hears only the variables it knows', () => {
    const { locate, defaultOf } = makeLocator()
    expect(locate('/p/x', { HOME: '/other', PATH: '/x', autoMemoryDirectory: '/m/x' })).toEqual(defaultOf('/p/x'))
    const odd = { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: 7, CLAUDE_CONFIG_DIR: ['/m/x'] } as unknown as Environment
    expect(locate('/p/x', odd)).toEqual(defaultOf('/p/x'))
    expect(callerVariables).toHaveLength(11)
  })

  it('reads the user’s settings from where the caller keeps them', () => {
    const { dir, write, locate } = makeLocator()
    write(join(dir, 'config/settings.json'), { autoMemoryDirectory: '~/mine' })
    expect(locate('/p/x', { CLAUDE_CONFIG_DIR: join(dir, 'config') })).toMatchObject({
      dir: join(dir, 'mine'),
      source: 'user',
    })
  })

  it('is never moved by what a repository brings', () => {
    const { dir, git, repository, write, locate, defaultOf } = makeLocator()
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
      memory: { on: false, because: 'autoMemoryEnabled is false in committed settings' },
    })
  })

  it('creates nothing', () => {
    const { repository, locate } = makeLocator()
    const { dir } = locate(repository('repo'))
    expect(() => realpathSync(dir)).toThrow('ENOENT')
  })

  it('needs a working directory that can be one', () => {
    const { locate } = makeLocator()
    for (const cwd of ['', 'a/b', '~', '/a\0b', `/${'a/'.repeat(5_000)}`])
      expect(() => locate(cwd)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }))
  })

  it('is found where every folder is closed', () => {
    const { repository, locate } = makeLocator()
    const root = repository('repo')
    // The test's home is closed to others, the default place for memories with it.
    const env = { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/srv/memories' }
    expect(withoutRights(() => locate(root, env))).toMatchObject({ root, dir: '/srv/memories' })
  })
})

describe('a refused place', () => {
  it('is refused each time, and no longer once it is mended', () => {
    const { dir, write, locate } = makeLocator()
    const settings = join(dir, '.claude/settings.json')
    write(settings, { autoMemoryDirectory: '/etc' })
    for (let time = 0; time < 3; time++)
      expect(() => locate('/p/x')).toThrow(expect.objectContaining({ code: 'REFUSED', reason: 'path' }))
    write(settings, { autoMemoryDirectory: '/srv/memories' })
    expect(locate('/p/x').dir).toBe('/srv/memories')
  })

  it('is noticed behind links, also those that are made later or lead to what is not there yet', () => {
    const { dir, locate } = makeLocator()
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
  it('is given again while nothing changed', () => {
    const { git, repository, locate } = makeLocator()
    const root = repository('repo')
    const first = locate(root)
    git(root, 'commit', '-q', '--allow-empty', '-m', 'second')
    expect(locate(root)).toBe(first)
    expect(locate(root, { CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES: 'be brief' })).toBe(first)
    expect(Object.isFrozen(first) && Object.isFrozen(first.memory)).toBe(true)
  })

  it('is not kept while a file it rests on is so young that its stamp could hide a change', () => {
    const { dir, write } = makeLocator()
    const { locate } = createLocator({ env: {}, home: dir, policyFile: join(dir, 'policy.json') })
    const settings = join(dir, '.claude/settings.json')
    for (const name of ['one', 'two', 'six', 'ten', 'odd', 'few']) {
      write(settings, { autoMemoryDirectory: `/m/${name}` })
      expect(locate('/p/x').dir).toBe(`/m/${name}`)
    }
  })

  it('ends when a repository is made around it, inside it or taken away', () => {
    const { dir, git, locate, defaultOf } = makeLocator()
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

  it('ends when a settings file comes, changes or goes', () => {
    const { dir, policyFile, repository, write, locate, defaultOf } = makeLocator()
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

  it('ends when git starts to track the local settings, or a branch brings others', () => {
    const { git, repository, write, locate, defaultOf } = makeLocator()
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
    expect(locate(root).memory.on).toBe(false)
    git(root, 'checkout', '-q', 'main')
    expect(locate(root)).toEqual(defaultOf(root))
    write(local, { autoMemoryDirectory: '/m/mine' })
    expect(locate(root).dir).toBe('/m/mine')
  })

  it('ends when a worktree loses its main repository, or a link leads elsewhere', () => {
    const { dir, git, repository, locate, defaultOf } = makeLocator()
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

  it('is the one a fresh locator would give, after any changes', () => {
    const { dir, git, repository, write, locate, policyFile } = makeLocator()
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
        const fresh = createLocator({ env: {}, home: dir, policyFile })
        for (const cwd of cwds) expect(locate(cwd)).toEqual(fresh.locate(cwd))
      }),
      { numRuns: 60 },
    )
  })
})

function makeSwitches(privatePaths: string[] = []) {
  const { dir } = makeHome()
  const store = openDatabases(join(dir, 'state'), 0)
  return {
    dir,
    switches: createSwitches({
      pauses: createPauses(store.history),
      clock: manualTime().clock,
      rootOf: (cwd) => findProjectRoot(cwd).root,
      privatePaths: () => privatePaths,
      onChange: () => {},
    }),
  }
}

describe('switches', () => {
  it('know a folder by one name, whichever way it was given', () => {
    const { dir, switches } = makeSwitches()
    mkdirSync(join(dir, 'real'))
    symlinkSync(join(dir, 'real'), join(dir, 'link'))
    switches.pause(join(dir, 'link'))
    switches.pause(`${join(dir, 'real')}/../real/`)
    expect(switches.paused()).toEqual({ all: false, projects: [join(dir, 'real')] })
    expect(switches.resume(join(dir, 'link'))).toEqual({ all: false, projects: [] })
  })

  it('name a folder private by whatever way it is reached, and its neighbours not', () => {
    const { dir } = makeHome()
    mkdirSync(join(dir, 'real/secret/deep'), { recursive: true })
    symlinkSync(join(dir, 'real'), join(dir, 'link'))
    const { switches } = makeSwitches([`${join(dir, 'link/secret')}/`])
    const because = (cwd: string) => switches.because(join(dir, cwd), findProjectRoot(join(dir, cwd)).root)
    const words = `${join(dir, 'link/secret')}/ is private`
    for (const cwd of ['real/secret', 'link/secret', 'real/secret/deep', 'link/secret/gone'])
      expect([cwd, because(cwd)]).toEqual([cwd, words])
    for (const cwd of ['real', 'real/secrets', 'other']) expect([cwd, because(cwd)]).toEqual([cwd, undefined])
  })

  it('take a folder that is not there by the name it was given', () => {
    const { switches } = makeSwitches()
    expect(switches.pause('/gone//away/').projects).toEqual(['/gone/away'])
  })

  it('refuse to resume below a paused folder, but not beside it', () => {
    const { dir, switches } = makeSwitches()
    switches.pause(`${dir}/b`)
    expect(() => switches.resume(`${dir}/b/c`)).toThrow(`${dir}/b/c stays paused: so is ${dir}/b`)
    expect(switches.resume(`${dir}/bc`)).toEqual({ all: false, projects: [`${dir}/b`] })
  })

  it('treat the root as everywhere', () => {
    const { switches } = makeSwitches()
    expect(switches.pause('/')).toEqual({ all: true, projects: [] })
    expect(switches.resume(undefined)).toEqual({ all: false, projects: [] })
  })
})
