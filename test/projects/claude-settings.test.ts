import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type ClaudeSettings,
  decideSwitch,
  readClaudeSettings,
  type Variables,
} from '../../daemon/projects/memory-dir.ts'
import { createProbe, findProjectRoot } from '../../daemon/projects/paths.ts'
import { needPrograms } from '../support/programs.ts'
import { makeWorkshop, type Workshop } from './repositories.ts'

beforeEach((context) => needPrograms(context, 'git'))

const silent = { policy: {}, local: {}, committed: {}, user: {} }
const mine = { autoMemoryDirectory: '/m/mine', autoMemoryEnabled: true }
const LOCAL = '.claude/settings.local.json'

function read({ dir }: Workshop, root: string) {
  const probe = createProbe()
  const project = findProjectRoot(root, probe)
  return readClaudeSettings(
    { project, configDir: join(dir, '.claude'), policyFile: join(dir, 'policy.json'), searchPath: process.env.PATH },
    probe,
  )
}

function makeRepository() {
  const workshop = makeWorkshop()
  const root = workshop.repository('repo')
  return {
    ...workshop,
    root,
    local: join(root, LOCAL),
    git: (...args: string[]) => workshop.git(root, ...args),
    settings: () => read(workshop, root),
  }
}

describe('settings', () => {
  it('are read from their four places, for two keys', () => {
    const { dir, root, write, settings } = makeRepository()
    expect(settings()).toEqual(silent)
    const keys = (name: string) => ({
      autoMemoryDirectory: `/m/${name}`,
      autoMemoryEnabled: false,
      model: 'x',
      env: {},
    })
    write(join(dir, 'policy.json'), keys('policy'))
    write(join(dir, '.claude/settings.json'), keys('user'))
    write(join(root, '.claude/settings.json'), keys('committed'))
    write(join(root, LOCAL), keys('local'))
    expect(settings()).toEqual({
      policy: { autoMemoryDirectory: '/m/policy', autoMemoryEnabled: false },
      local: { autoMemoryDirectory: '/m/local', autoMemoryEnabled: false },
      committed: { autoMemoryEnabled: false },
      user: { autoMemoryDirectory: '/m/user', autoMemoryEnabled: false },
    })
  })

  it('of the repository can only switch off', () => {
    const { root, write, settings } = makeRepository()
    write(join(root, '.claude/settings.json'), { autoMemoryEnabled: true, autoMemoryDirectory: '/home/me/.ssh' })
    expect(settings()).toEqual(silent)
  })

  it.each<[string, string]>([
    ['nothing', ''],
    ['half of it', '{"autoMemoryDirectory": "/m/x"'],
    ['no object', '["autoMemoryDirectory"]'],
    ['null', 'null'],
    ['wrong types', '{"autoMemoryDirectory": 7, "autoMemoryEnabled": "false"}'],
    ['an empty path', '{"autoMemoryDirectory": ""}'],
    ['keys of the prototype', '{"__proto__": {"autoMemoryDirectory": "/m/x"}}'],
    ['keys one level down', '{"a": {"autoMemoryDirectory": "/m/x"}}'],
    ['more than a user writes', `{"autoMemoryDirectory": "/m/x", "a": "${'x'.repeat(300_000)}"}`],
    ['brackets without end', '['.repeat(250_000)],
  ])('say nothing when the file holds %s', (_what, content) => {
    const { dir, root, write, settings } = makeRepository()
    for (const file of [join(dir, '.claude/settings.json'), join(dir, 'policy.json'), join(root, LOCAL)])
      write(file, content)
    expect(settings()).toEqual(silent)
  })

  it('keep the good key beside a bad one, and may start with a byte order mark', () => {
    const { dir, write, settings } = makeRepository()
    write(join(dir, '.claude/settings.json'), '\uFEFF{"autoMemoryDirectory": 7, "autoMemoryEnabled": false}')
    expect(settings().user).toEqual({ autoMemoryEnabled: false })
  })

  it('say nothing when they are a pipe, a folder or a loop of links', (context) => {
    needPrograms(context, 'mkfifo')
    const { dir, root, settings } = makeRepository()
    mkdirSync(join(dir, '.claude'))
    mkdirSync(join(root, '.claude'))
    execFileSync('mkfifo', [join(dir, '.claude/settings.json')])
    mkdirSync(join(dir, 'policy.json'))
    symlinkSync('settings.local.json', join(root, LOCAL))
    execFileSync('mkfifo', [join(root, '.claude/settings.json')])
    expect(settings()).toEqual(silent)
  })

  it('never throw, whatever the JSON', () => {
    const { dir, write, settings } = makeRepository()
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        write(join(dir, '.claude/settings.json'), text)
        expect(settings()).toEqual(silent)
      }),
    )
  })
})

describe('local settings', () => {
  it('count while git does not track them, ignored or not', () => {
    const { root, local, write, git, settings } = makeRepository()
    write(local, mine)
    expect(settings().local).toEqual(mine)
    write(join(root, '.gitignore'), LOCAL)
    git('add', '.')
    expect(settings().local).toEqual(mine)
  })

  it('do not count once git tracks them, except to switch off', () => {
    const { local, write, git, settings } = makeRepository()
    write(local, mine)
    git('add', '-f', LOCAL)
    expect(settings()).toEqual(silent)
    git('commit', '-qm', 'settings')
    expect(settings()).toEqual(silent)
    write(local, { ...mine, autoMemoryEnabled: false })
    expect(settings()).toEqual({ ...silent, committed: { autoMemoryEnabled: false } })
    git('rm', '-q', '--cached', LOCAL)
    expect(settings().local).toEqual({ ...mine, autoMemoryEnabled: false })
  })

  it('do not count when a tracked link leads to them', () => {
    const { root, write, git, settings } = makeRepository()
    write(join(root, 'shared/settings.local.json'), mine)
    symlinkSync('shared', join(root, '.claude'))
    git('add', '.')
    expect(settings()).toEqual(silent)
  })

  it('do not count behind a link of any kind: what it leads to may be tracked', () => {
    const { root, write, git, settings } = makeRepository()
    write(join(root, 'shared.json'), mine)
    git('add', '.')
    mkdirSync(join(root, '.claude'))
    symlinkSync('../shared.json', join(root, LOCAL))
    expect(settings()).toEqual(silent)
  })

  it('do not count when they belong to another user', (context) => {
    if (process.geteuid?.() !== 0) return context.skip('needs root to give a file away')
    const { local, write, settings } = makeRepository()
    write(local, mine)
    chownSync(local, 4_243, 4_243)
    expect(settings()).toEqual(silent)
  })

  it.each<[string, (gitDir: string) => void]>([
    ['the index is damaged', (gitDir) => writeFileSync(join(gitDir, 'index'), 'DIRC')],
    [
      'the index is a folder',
      (gitDir) => {
        rmSync(join(gitDir, 'index'))
        mkdirSync(join(gitDir, 'index'))
      },
    ],
    ['there is no HEAD', (gitDir) => rmSync(join(gitDir, 'HEAD'))],
    [
      '.git points nowhere',
      (gitDir) => {
        rmSync(gitDir, { recursive: true })
        writeFileSync(gitDir, 'gitdir: nowhere')
      },
    ],
  ])('do not count when %s', (_what, damage) => {
    const { root, local, write, settings } = makeRepository()
    write(local, mine)
    damage(join(root, '.git'))
    expect(settings()).toEqual(silent)
  })

  it('count outside git, and where nothing was added yet', () => {
    const workshop = makeWorkshop()
    const plain = join(workshop.dir, 'plain')
    workshop.write(join(plain, LOCAL), mine)
    expect(read(workshop, plain).local).toEqual(mine)
    workshop.git(plain, 'init', '-q')
    expect(read(workshop, plain).local).toEqual(mine)
  })

  it('of the main worktree serve all worktrees, checked against its index', () => {
    const { dir, local, write, git, ...workshop } = makeRepository()
    git('worktree', 'add', '-q', join(dir, 'wt'))
    write(local, mine)
    write(join(dir, 'wt', LOCAL), { autoMemoryDirectory: '/m/other' })
    const settings = () => read({ ...workshop, dir, write, git }, join(dir, 'wt'))
    expect(settings().local).toEqual(mine)
    git('add', '-f', LOCAL)
    expect(settings().local).toEqual({})
  })

  it('of a submodule are checked against the submodule’s index', () => {
    const workshop = makeWorkshop()
    const [outer] = [workshop.repository('outer'), workshop.repository('inner')]
    workshop.git(outer, 'submodule', '--quiet', 'add', join(workshop.dir, 'inner'), 'sub')
    const sub = join(outer, 'sub')
    workshop.write(join(sub, LOCAL), mine)
    expect(read(workshop, sub).local).toEqual(mine)
    workshop.git(sub, 'add', '-f', LOCAL)
    expect(read(workshop, sub).local).toEqual({})
  })
})

const silentMemorySwitchTest: ClaudeSettings = { policy: {}, local: {}, committed: {}, user: {} }
const off = { autoMemoryEnabled: false } as const
const on = { autoMemoryEnabled: true } as const

describe('memory', () => {
  it.each<[string, Variables, Partial<ClaudeSettings>, true | string]>([
    ['by default', {}, {}, true],
    ['disabled', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }, { policy: on }, 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is set'],
    ['disabled in words', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'True' }, {}, 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is set'],
    [
      'explicitly not disabled',
      { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0', CLAUDE_CODE_SIMPLE: '1', CLAUDE_CODE_REMOTE: '1' },
      { policy: off, local: off, committed: off, user: off },
      true,
    ],
    ['explicitly not disabled in words', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'false' }, { user: off }, true],
    ['disabled by an unknown word', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'maybe' }, {}, true],
    ['simple', { CLAUDE_CODE_SIMPLE: '1' }, { policy: on }, 'CLAUDE_CODE_SIMPLE is set'],
    ['not simple', { CLAUDE_CODE_SIMPLE: '0' }, {}, true],
    [
      'remote',
      { CLAUDE_CODE_REMOTE: 'true' },
      { user: on },
      'CLAUDE_CODE_REMOTE is set without CLAUDE_CODE_REMOTE_MEMORY_DIR',
    ],
    ['remote with a place', { CLAUDE_CODE_REMOTE: '1', CLAUDE_CODE_REMOTE_MEMORY_DIR: '/r/m' }, {}, true],
    ['off by policy', {}, { policy: off, local: on, user: on }, 'autoMemoryEnabled is false in policy settings'],
    ['on by policy', {}, { policy: on, local: off, committed: off }, true],
    ['off locally', {}, { local: off, user: on }, 'autoMemoryEnabled is false in local settings'],
    ['on locally', {}, { local: on, committed: off, user: off }, true],
    ['off in the repository', {}, { committed: off, user: on }, 'autoMemoryEnabled is false in committed settings'],
    ['off for the user', {}, { user: off }, 'autoMemoryEnabled is false in user settings'],
  ])('is decided by the first rule that matches: %s', (_what, variables, settings, expected) => {
    expect(decideSwitch(variables, { ...silentMemorySwitchTest, ...settings })).toEqual(
      expected === true ? { on: true } : { on: false, because: expected },
    )
  })
})
