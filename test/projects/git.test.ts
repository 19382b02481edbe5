import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { findProjectRoot } from '../../daemon/projects/paths.ts'
import { needPrograms } from '../support/programs.ts'
import { makeWorkshop, withoutRights } from './repositories.ts'

const rootOf = (cwd: string) => findProjectRoot(cwd).root

beforeEach((context) => needPrograms(context, 'git'))

describe('the project of a folder', () => {
  it('is the root of its repository, from any depth and through links', () => {
    const { dir, repository } = makeWorkshop()
    const root = repository('repo')
    mkdirSync(join(root, 'a/b'), { recursive: true })
    symlinkSync(join(root, 'a'), join(dir, 'link'))
    for (const cwd of [root, `${root}/`, join(root, 'a/b'), join(dir, 'link/b'), join(root, '.git/hooks')])
      expect(findProjectRoot(cwd)).toEqual({ root, git: { gitDir: join(root, '.git') } })
  })

  it('is the folder itself outside git', () => {
    const { dir } = makeWorkshop()
    mkdirSync(join(dir, 'plain'))
    symlinkSync(join(dir, 'plain'), join(dir, 'link'))
    for (const cwd of [join(dir, 'plain'), join(dir, 'link'), `${dir}/./plain//`])
      expect(findProjectRoot(cwd)).toEqual({ root: join(dir, 'plain'), git: 'none' })
    expect(rootOf('/')).toBe('/')
  })

  it('is the main root for every worktree, wherever that stands', () => {
    const { dir, git, repository } = makeWorkshop()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(dir, 'beside'))
    git(root, 'worktree', 'add', '-q', '.claude/worktrees/probe-wt')
    mkdirSync(join(dir, 'beside/sub'))
    symlinkSync(join(dir, 'beside'), join(dir, 'link'))
    for (const cwd of ['beside', 'beside/sub', 'link/sub', 'repo/.claude/worktrees/probe-wt'])
      expect(findProjectRoot(join(dir, cwd))).toEqual({ root, git: { gitDir: join(root, '.git') } })
  })

  it('is the main root for a worktree that knows it by a relative path', () => {
    const { dir, git, repository } = makeWorkshop()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    writeFileSync(join(dir, 'wt/.git'), 'gitdir: ../repo/.git/worktrees/wt\r\n')
    writeFileSync(join(root, '.git/worktrees/wt/gitdir'), '../../../../wt/.git\n')
    expect(rootOf(join(dir, 'wt'))).toBe(root)
  })

  it('is the worktree itself once the main repository has moved away', () => {
    const { dir, git, repository } = makeWorkshop()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    renameSync(root, join(dir, 'moved'))
    expect(findProjectRoot(join(dir, 'wt'))).toEqual({ root: join(dir, 'wt'), git: 'broken' })
    git(join(dir, 'moved'), 'worktree', 'repair')
    expect(rootOf(join(dir, 'wt'))).toBe(join(dir, 'moved'))
  })

  it('is the submodule for a folder in a submodule, and for the submodule’s worktrees', () => {
    const { dir, git, repository } = makeWorkshop()
    const [outer] = [repository('outer'), repository('inner')]
    git(outer, 'submodule', '--quiet', 'add', join(dir, 'inner'), 'libs/inner')
    const sub = join(outer, 'libs/inner')
    const gitDir = join(outer, '.git/modules/libs/inner')
    expect(findProjectRoot(sub)).toEqual({ root: sub, git: { gitDir } })
    git(sub, 'worktree', 'add', '-q', join(dir, 'sub-wt'))
    expect(findProjectRoot(join(dir, 'sub-wt'))).toEqual({ root: sub, git: { gitDir } })
    git(outer, 'worktree', 'add', '-q', join(dir, 'outer-wt'))
    expect(rootOf(join(dir, 'outer-wt'))).toBe(outer)
  })

  it('is the inner one of nested repositories', () => {
    const { repository } = makeWorkshop()
    const outer = repository('outer')
    const inner = repository('outer/inner')
    mkdirSync(join(inner, 'deep'))
    expect(rootOf(join(inner, 'deep'))).toBe(inner)
    expect(rootOf(outer)).toBe(outer)
  })

  it('is the checkout whose git folder was put elsewhere', () => {
    const { dir, repository } = makeWorkshop()
    const root = repository('repo', '--separate-git-dir', join(dir, 'elsewhere'))
    expect(findProjectRoot(root)).toEqual({ root, git: { gitDir: join(dir, 'elsewhere') } })
  })

  it('is the bare repository for its worktrees, and the folder around one named .git', () => {
    const { dir, git, repository } = makeWorkshop()
    const source = repository('source')
    git(dir, 'clone', '-q', '--bare', source, join(dir, 'one.git'))
    git(join(dir, 'one.git'), 'worktree', 'add', '-q', join(dir, 'one-wt'))
    expect(rootOf(join(dir, 'one-wt'))).toBe(join(dir, 'one.git'))
    expect(rootOf(join(dir, 'one.git'))).toBe(join(dir, 'one.git'))
    git(dir, 'clone', '-q', '--bare', source, join(dir, 'two/.git'))
    git(join(dir, 'two/.git'), 'worktree', 'add', '-q', join(dir, 'two/wt'))
    expect(rootOf(join(dir, 'two/wt'))).toBe(join(dir, 'two'))
  })

  it('is found for a folder that is gone, as far as its path still exists', () => {
    const { dir, repository } = makeWorkshop()
    const root = repository('repo')
    symlinkSync(root, join(dir, 'link'))
    expect(rootOf(join(dir, 'link/gone/away'))).toBe(root)
    expect(rootOf('/gone//away/')).toBe('/gone/away')
    symlinkSync('/gone/target', join(dir, 'dangling'))
    expect(rootOf(join(dir, 'dangling/x'))).toBe('/gone/target/x')
  })

  it('agrees with git on every folder of a tangle of repositories', () => {
    const { dir, git, repository } = makeWorkshop()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(root, 'in/wt'))
    repository('repo/in/wt/nested')
    git(root, 'worktree', 'add', '-q', join(dir, 'out'))
    const folders = ['repo', 'repo/in', 'repo/in/wt', 'repo/in/wt/nested', 'out']
    for (const folder of folders.map((name) => join(dir, name))) {
      const common = git(folder, 'rev-parse', '--path-format=absolute', '--git-common-dir').trim()
      expect(join(rootOf(folder), '.git')).toBe(common)
    }
  })
})

describe('a .git that is not what it should be', () => {
  const folderWith = (content: string | Buffer) => {
    const { dir } = makeWorkshop()
    mkdirSync(join(dir, 'p/sub'), { recursive: true })
    writeFileSync(join(dir, 'p/.git'), content)
    return join(dir, 'p')
  }

  it.each([
    ['empty', ''],
    ['not a pointer', 'hello'],
    ['a pointer to nowhere', 'gitdir: /nowhere/at/all'],
    ['a pointer to itself', 'gitdir: .git'],
    ['a pointer without a path', 'gitdir: '],
    ['a pointer to a file', 'gitdir: /etc/passwd'],
    ['a pointer with a NUL', 'gitdir: /a\0b'],
    ['a megabyte', `gitdir: ${'x'.repeat(1_000_000)}`],
    ['binary', Buffer.from([0xff, 0xfe, 0, 1, 2])],
  ])('makes its folder the root: %s', (_what, content) => {
    const folder = folderWith(content)
    expect(findProjectRoot(join(folder, 'sub'))).toEqual({ root: folder, git: 'broken' })
  })

  it('never throws and never leaves the way up, whatever the file says', () => {
    const folder = folderWith('')
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom('..', '.git', '/', 'sub', 'worktrees', '\n', '\0'), fc.string())),
        (parts) => {
          writeFileSync(join(folder, '.git'), `gitdir: ${parts.join('/')}`)
          expect(rootOf(join(folder, 'sub'))).toBe(folder)
        },
      ),
    )
  })

  it('does not make a stranger’s folder a worktree of a repository that does not know it', () => {
    const { dir, git, repository, write } = makeWorkshop()
    const victim = repository('victim')
    git(victim, 'worktree', 'add', '-q', join(dir, 'wt'))
    const pointer = readFileSync(join(dir, 'wt/.git'), 'utf8')
    write(join(dir, 'evil/.git'), pointer)
    expect(rootOf(join(dir, 'evil'))).toBe(join(dir, 'evil'))
    // A git folder of its own that claims the victim's as the common one.
    write(join(dir, 'evil/.git'), 'gitdir: own/worktrees/x')
    write(join(dir, 'evil/own/worktrees/x/commondir'), join(victim, '.git'))
    write(join(dir, 'evil/own/worktrees/x/gitdir'), join(dir, 'evil/.git'))
    expect(rootOf(join(dir, 'evil'))).toBe(join(dir, 'evil'))
    // A common folder of its own that claims the victim as its checkout.
    write(join(dir, 'evil/own/worktrees/x/commondir'), '../..')
    write(join(dir, 'evil/own/config'), `[core]\n\tworktree = ${victim}\n`)
    expect(rootOf(join(dir, 'evil'))).toBe(join(dir, 'evil/own'))
    symlinkSync(join(victim, '.git'), join(dir, 'evil-link'))
    mkdirSync(join(dir, 'linked'))
    symlinkSync(join(victim, '.git'), join(dir, 'linked/.git'))
    expect(rootOf(join(dir, 'linked'))).toBe(join(dir, 'linked'))
  })

  it('keeps a copied worktree apart from the one git knows', () => {
    const { dir, git, repository } = makeWorkshop()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    cpSync(join(dir, 'wt'), join(dir, 'copy'), { recursive: true })
    expect(rootOf(join(dir, 'wt'))).toBe(root)
    expect(rootOf(join(dir, 'copy'))).toBe(join(dir, 'copy'))
  })

  it.each([
    ['itself', '.'],
    ['a sibling', '../x'],
    ['its own pointer', './commondir'],
    ['nothing', ''],
    ['the root', '/'],
    ['a name without end', 'x'.repeat(20_000)],
  ])('does not follow a commondir that names %s', (_what, target) => {
    const { dir, git, repository } = makeWorkshop()
    const root = repository('repo')
    git(root, 'worktree', 'add', '-q', join(dir, 'wt'))
    writeFileSync(join(root, '.git/worktrees/wt/commondir'), target)
    expect(rootOf(join(dir, 'wt'))).toBe(join(dir, 'wt'))
  })

  it('is passed over when it is a loop of links, a dangling link or a pipe', (context) => {
    needPrograms(context, 'mkfifo')
    const { repository } = makeWorkshop()
    const root = repository('repo')
    for (const name of ['loop', 'dangling', 'pipe']) mkdirSync(join(root, name))
    symlinkSync('.git', join(root, 'loop/.git'))
    symlinkSync('nowhere', join(root, 'dangling/.git'))
    execFileSync('mkfifo', [join(root, 'pipe/.git')])
    for (const name of ['loop', 'dangling', 'pipe']) expect(rootOf(join(root, name))).toBe(root)
  })

  it('counts as a root even when empty, as the client has it', () => {
    const { dir } = makeWorkshop()
    mkdirSync(join(dir, 'p/.git'), { recursive: true })
    mkdirSync(join(dir, 'p/sub'))
    expect(rootOf(join(dir, 'p/sub'))).toBe(join(dir, 'p'))
  })

  it('does not stop the search when a folder is closed', () => {
    const { dir, repository } = makeWorkshop()
    const root = repository('repo')
    mkdirSync(join(root, 'closed/sub'), { recursive: true })
    chmodSync(dir, 0o755)
    chmodSync(join(root, 'closed'), 0)
    expect(withoutRights(() => rootOf(join(root, 'closed/sub')))).toBe(root)
    chmodSync(join(root, '.git'), 0)
    expect(withoutRights(() => rootOf(join(root, 'closed/sub')))).toBe(root)
    chmodSync(join(root, 'closed'), 0o755)
    chmodSync(root, 0)
    expect(withoutRights(() => rootOf(join(root, 'closed/sub')))).toBe(join(root, 'closed/sub'))
    // Or it could not be cleaned away.
    for (const folder of [root, join(root, '.git')]) chmodSync(folder, 0o755)
  })

  it('is not looked for in a pointer that may not be read', () => {
    const folder = folderWith('gitdir: /tmp')
    chmodSync(join(folder, '..'), 0o755)
    chmodSync(join(folder, '.git'), 0)
    expect(withoutRights(() => findProjectRoot(folder))).toEqual({ root: folder, git: 'broken' })
  })
})

describe('a path that cannot exist', () => {
  it('has itself as project', () => {
    const deep = `/${'a/'.repeat(100_000)}b`
    expect(rootOf(deep)).toBe(deep)
    expect(rootOf('/a\0b')).toBe('/a\0b')
    expect(rootOf('')).toBe('/')
  })

  it('ends where links go in circles or multiply without end', () => {
    const { dir } = makeWorkshop()
    symlinkSync('b', join(dir, 'a'))
    symlinkSync('a', join(dir, 'b'))
    expect(rootOf(join(dir, 'a/x'))).toBe(join(dir, 'a/x'))
    for (let level = 0; level < 60; level++) symlinkSync(`${level + 1}/../${level + 1}/x`, join(dir, String(level)))
    expect(rootOf(join(dir, '0'))).toBe(join(dir, '0'))
    rmSync(join(dir, 'a'))
    expect(realpathSync(dir)).toBe(dir)
  })
})
