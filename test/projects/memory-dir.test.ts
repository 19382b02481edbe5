import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  agentDirOf,
  type ClaudeSettings,
  chooseMemoryDir,
  isAgentDir,
  isMemoryPlace,
  refuseLinked,
  slugOf,
  type Variables,
} from '../../daemon/projects/memory-dir.ts'
import type { Agent } from '../../schema/memory.ts'
import { makeHome } from '../support/home.ts'

const silent: ClaudeSettings = { policy: {}, local: {}, committed: {}, user: {} }
const home = '/home/dev'
const at = (autoMemoryDirectory: string) => ({ autoMemoryDirectory })
const choose = (variables: Variables, settings: Partial<ClaudeSettings> = {}, root = '/home/dev/proj/demo') =>
  chooseMemoryDir({ root, home, variables, settings: { ...silent, ...settings } })

describe('the memory directory', () => {
  const all = { policy: at('/p/m'), local: at('/l/m'), user: at('/u/m') }
  const everything: Variables = {
    CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/o/m',
    CLAUDE_CODE_REMOTE_MEMORY_DIR: '/r/base',
    CLAUDE_CONFIG_DIR: '/c/base',
  }
  const { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: _override, ...bases } = everything

  it.each<[string, string, Variables, Partial<ClaudeSettings>]>([
    ['override', '/o/m', everything, all],
    ['policy', '/p/m', bases, all],
    ['local', '/l/m', bases, { ...all, policy: {} }],
    ['user', '/u/m', bases, { user: all.user }],
    ['default', '/r/base/projects/-home-dev-proj-demo/memory', bases, {}],
    [
      'default',
      '/c/base/projects/-home-dev-proj-demo/memory',
      { CLAUDE_CONFIG_DIR: '/c/base', CLAUDE_CODE_REMOTE: '1' },
      {},
    ],
    ['default', '/home/dev/.claude/projects/-home-dev-proj-demo/memory', {}, {}],
  ])('is where the first source says: %s %s', (source, dir, variables, settings) => {
    expect(choose(variables, settings)).toEqual({ dir, source })
  })

  it.each([
    ['~/notes/m', '/home/dev/notes/m'],
    ['~//notes', '/home/dev/notes'],
    ['/a/b/', '/a/b'],
    ['/a//b/./c/../d//', '/a/b/d'],
    ['/a/cafe\u0301', '/a/caf\u00e9'],
    ['/a/~/b', '/a/~/b'],
    ['~/../other/x', '/home/other/x'],
  ])('is written in one way: %j', (given, dir) => {
    expect(choose({}, { user: at(given) })).toEqual({ dir, source: 'user' })
  })

  it('is refused as an override that leads up again', () => {
    const override = { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/home/dev/notes/../../other/notes' }
    expect(() => choose(override)).toThrow('has .. in it')
  })

  it('is composed only after the slug was made from the root as it is', () => {
    const base = { CLAUDE_CONFIG_DIR: '/c/cafe\u0301' }
    expect(choose(base, {}, '/p/cafe\u0301').dir).toBe('/c/caf\u00e9/projects/-p-cafe-/memory')
    expect(choose(base, {}, '/p/caf\u00e9').dir).toBe('/c/caf\u00e9/projects/-p-caf-/memory')
  })
})

describe('a place where no memory directory may be', () => {
  const places: [string, string][] = [
    ['relative/path', 'is relative'],
    ['.', 'is relative'],
    ['..', 'is relative'],
    ['~', 'is relative'],
    ['~root/m', 'is relative'],
    ['C:\\Users\\me', 'is relative'],
    ['/', 'is the root or one level below it'],
    ['/etc', 'is the root or one level below it'],
    ['/etc/', 'is the root or one level below it'],
    ['/a/..', 'is the root or one level below it'],
    ['/a/../../b', 'is the root or one level below it'],
    ['/./a//.', 'is the root or one level below it'],
    ['C:\\', 'is a drive root'],
    ['c:', 'is a drive root'],
    ['C:/', 'is a drive root'],
    ['\\\\server\\share\\m', 'is a network path'],
    ['//server/share/m', 'is a network path'],
    ['/a/b\0c', 'holds a NUL byte'],
    ['/home/dev', 'is your home directory or holds it'],
  ]

  it.each([...places, ['~/', 'is relative']] as const)('is refused as an override: %j', (path, problem) => {
    expect(() => choose({ CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: path })).toThrow(
      expect.objectContaining({
        code: 'REFUSED',
        message: `the memory directory ${JSON.stringify(path)} ${problem}`,
        reason: 'path',
        hint: 'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE must name an absolute path, at least two levels below the root',
      }),
    )
  })

  it.each([
    ...places,
    ['~/', 'is your home directory or holds it'],
    ['~/..', 'is the root or one level below it'],
    ['~/../../etc', 'is the root or one level below it'],
  ] as const)('is refused in every settings file: %j', (path, problem) => {
    for (const source of ['policy', 'local', 'user'] as const)
      expect(() => choose({}, { [source]: at(path) })).toThrow(
        expect.objectContaining({ reason: 'path', message: expect.stringContaining(problem) }),
      )
  })

  it.each([
    [{ CLAUDE_CONFIG_DIR: 'relative' }, 'is relative'],
    [{ CLAUDE_CODE_REMOTE_MEMORY_DIR: '//server/share' }, 'is a network path'],
    [{ CLAUDE_CONFIG_DIR: '/a\0b' }, 'holds a NUL byte'],
  ])('is refused as the base of the default: %j', (variables, problem) => {
    expect(() => choose(variables)).toThrow(problem)
  })

  it('is refused behind a link, and so is one that cannot be told', () => {
    const place = { dir: '/home/dev/link', source: 'user' } as const
    expect(() => refuseLinked(place, '/etc', home)).toThrow(
      'the memory directory "/home/dev/link" leads to "/etc", which is the root or one level below it',
    )
    expect(() => refuseLinked(place, undefined, home)).toThrow('"/home/dev/link" cannot be resolved')
    expect(() => refuseLinked(place, '/home/dev', home)).toThrow('is your home directory')
    expect(refuseLinked(place, '/srv/memories', home)).toBeUndefined()
  })
})

describe('a directory', () => {
  it('is no place for memories where it is one that is refused, or leads to one', () => {
    const home = join(makeHome().dir, 'me')
    const dir = join(home, 'memory')
    mkdirSync(dir, { recursive: true })
    symlinkSync('/usr', join(home, 'to-usr'))
    symlinkSync(home, join(home, 'to-home'))
    symlinkSync(dir, join(home, 'to-memory'))
    const places = [
      dir,
      join(home, 'to-memory'),
      join(home, 'to-usr'),
      join(home, 'to-home'),
      '/usr',
      home,
      join(home, 'no'),
    ]
    expect(places.map((place) => isMemoryPlace(place, home))).toEqual([true, true, false, false, false, false, false])
  })
})

const long = `/${'a'.repeat(199)}`

describe('slugs', () => {
  it.each([
    ['/a/with space', '-a-with-space'],
    ['.hidden', '-hidden'],
    ['/', '-'],
    ['/home/dev/proj/demo/.claude/worktrees/probe-wt', '-home-dev-proj-demo--claude-worktrees-probe-wt'],
    ['/a_b.c~1', '-a-b-c-1'],
    // One unit, one dash: an emoji is two units, a decomposed é is a letter and one more.
    ['/😀', '---'],
    ['/caf\u00e9', '-caf-'],
    ['/cafe\u0301', '-cafe-'],
    [long, `-${'a'.repeat(199)}`],
  ])('spell %j as the client does', (path, slug) => {
    expect(slugOf(path)).toBe(slug)
  })

  it('cut a longer path and add the hash of the whole', () => {
    expect(slugOf(`${long}b`)).toBe(`-${'a'.repeat(199)}-${Math.abs(naiveHash(`${long}b`)).toString(36)}`)
    expect(slugOf(`${long}.`)).not.toBe(slugOf(`${long}_`))
  })

  it('are safe folder names of bounded length, the same each time', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { maxLength: 400 }), (units) => {
        const path = String.fromCharCode(...units)
        const slug = slugOf(path)
        const hash = naiveHash(path)
        expect(slug).toMatch(/^[A-Za-z0-9-]*$/)
        expect(slug.slice(200)).toBe(path.length > 200 ? `-${(hash < 0 ? -hash : hash).toString(36)}` : '')
        expect(slug.slice(0, 200)).toHaveLength(Math.min(path.length, 200))
      }),
    )
  })
})

/** The rule as it is written down, in whole numbers without a limit. */
function naiveHash(path: string): number {
  let hash = 0n
  for (let unit = 0; unit < path.length; unit++) hash = BigInt.asIntN(32, hash * 31n + BigInt(path.charCodeAt(unit)))
  return Number(hash)
}

function rig() {
  const { dir: home } = makeHome()
  const root = join(home, 'work/repo')
  mkdirSync(root, { recursive: true })
  const dirOf = (agent: Agent, variables: Variables = {}) => agentDirOf({ root, home, variables, ...agent })
  return { home, root, dirOf }
}

describe('the memory directory of an agent', () => {
  it('is one for each scope', () => {
    const { home, root, dirOf } = rig()
    expect(dirOf({ type: 'reviewer', scope: 'user' })).toBe(join(home, '.claude/agent-memory/reviewer'))
    expect(dirOf({ type: 'reviewer', scope: 'project' })).toBe(join(root, '.claude/agent-memory/reviewer'))
    expect(dirOf({ type: 'reviewer', scope: 'local' })).toBe(join(root, '.claude/agent-memory-local/reviewer'))
  })

  it('follows the variables that move the configuration and the remote mount', () => {
    const { home, root, dirOf } = rig()
    const variables = { CLAUDE_CONFIG_DIR: join(home, 'conf'), CLAUDE_CODE_REMOTE_MEMORY_DIR: join(home, 'mount') }
    const slug = root.replaceAll(/[^A-Za-z0-9]/g, '-')
    expect(dirOf({ type: 'x', scope: 'user' }, variables)).toBe(join(home, 'conf/agent-memory/x'))
    expect(dirOf({ type: 'x', scope: 'project' }, variables)).toBe(join(root, '.claude/agent-memory/x'))
    expect(dirOf({ type: 'x', scope: 'local' }, variables)).toBe(
      join(home, `mount/projects/${slug}/agent-memory-local/x`),
    )
  })

  it('has a name that is no path, whatever the type', () => {
    const { root, dirOf } = rig()
    const nameOf = (type: string) => dirOf({ type, scope: 'project' }).slice(join(root, '.claude/agent-memory/').length)
    expect(nameOf('plugin:reviewer')).toBe('plugin-reviewer')
    for (const type of ['..', '.', '../../x', 'a/b', 'a\0b', 'ä', 'x'.repeat(129)])
      expect(nameOf(type)).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each(['.claude', '.claude/agent-memory', '.claude/agent-memory/reviewer'])(
    'is refused where a repository links %s elsewhere',
    (link) => {
      const { home, root, dirOf } = rig()
      const elsewhere = join(home, '.ssh')
      mkdirSync(elsewhere)
      mkdirSync(join(root, link, '..'), { recursive: true })
      symlinkSync(elsewhere, join(root, link))
      expect(() => dirOf({ type: 'reviewer', scope: 'project' })).toThrow('leads elsewhere through a link')
      expect(dirOf({ type: 'reviewer', scope: 'user' })).toBe(join(home, '.claude/agent-memory/reviewer'))
    },
  )

  it('may be reached through links of the user, and counts no longer when one takes its place', () => {
    const { home, dirOf } = rig()
    mkdirSync(join(home, 'dotfiles/agent-memory/x'), { recursive: true })
    symlinkSync(join(home, 'dotfiles'), join(home, '.claude'))
    const dir = dirOf({ type: 'x', scope: 'user' })
    expect(dir).toBe(join(home, 'dotfiles/agent-memory/x'))
    expect([isAgentDir(dir), isMemoryPlace(dir, home)]).toEqual([true, true])
    renameSync(dir, `${dir}-old`)
    symlinkSync(`${dir}-old`, dir)
    expect([isAgentDir(dir), isMemoryPlace(dir, home)]).toEqual([true, false])
  })
})
