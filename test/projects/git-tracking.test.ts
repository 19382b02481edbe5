import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createProbe, trackingOf } from '../../daemon/projects/paths.ts'
import { needPrograms } from '../support/programs.ts'
import { makeWorkshop } from './repositories.ts'

const PATH = '.claude/settings.local.json'

beforeEach((context) => needPrograms(context, 'git'))

function makeRepository(...options: string[]) {
  const { dir, git, repository, write } = makeWorkshop()
  const root = repository('repo', ...options)
  const hash = git(root, 'rev-parse', 'HEAD').trim()
  return {
    root,
    git: (...args: string[]) => git(root, ...args),
    add: (...paths: string[]) => {
      for (const path of paths) write(join(root, path), path)
      git(root, 'add', '-f', ...paths)
    },
    /** Entries straight into the index, without files. */
    fill: (names: string[]) =>
      execFileSync('git', ['update-index', '-z', '--index-info'], {
        cwd: root,
        env: { HOME: dir, PATH: process.env.PATH },
        input: names.map((name) => `100644 ${hash}\t${name}\0`).join(''),
      }),
    tracking: (path = PATH) =>
      trackingOf({ root, git: { gitDir: join(root, '.git') } }, path, process.env.PATH, createProbe()),
  }
}

const formats: [string, string[], string[]][] = [
  ['version 2', [], ['--index-version', '2']],
  ['version 4', [], ['--index-version', '4']],
  ['version 2 with SHA-256', ['--object-format=sha256'], ['--index-version', '2']],
  ['version 4 with SHA-256', ['--object-format=sha256'], ['--index-version', '4']],
]

describe('an index of git', () => {
  it.each(formats)('tells what is tracked: %s', (_format, init, version) => {
    const { git, add, fill, tracking } = makeRepository(...init)
    add('.claude/settings.json', 'README.md', 'z')
    fill(['deep/'.repeat(900), 'deep/'.repeat(1_000)].map((folder) => `${folder}file`))
    git('update-index', ...version)
    expect(tracking()).toBe('untracked')
    add(PATH)
    expect(tracking()).toBe('tracked')
    git('rm', '-q', '--cached', PATH)
    expect(tracking()).toBe('untracked')
  })

  it('of version 3 counts a file that is only meant to be added', () => {
    const { root, git, add, tracking } = makeRepository()
    add('a')
    mkdirSync(join(root, '.claude'))
    writeFileSync(join(root, PATH), '{}')
    git('add', '-N', PATH)
    expect(readFileSync(join(root, '.git/index')).readUInt32BE(4)).toBe(3)
    expect(tracking()).toBe('tracked')
    expect(tracking('.claude/other')).toBe('untracked')
  })

  it('counts what another file system would take for the same name, or for a folder on the way', () => {
    for (const name of [
      '.Claude/Settings.local.JSON',
      '.cl\u200caude/settings.local.json',
      '．claude/settings.local.json',
    ]) {
      const { fill, tracking } = makeRepository()
      fill([name, 'other'])
      expect(tracking()).toBe('tracked')
    }
    const { root, git, tracking } = makeRepository()
    symlinkSync('elsewhere', join(root, '.claude'))
    git('add', '.claude')
    expect(tracking()).toBe('tracked')
  })

  it('counts a folder that a sparse index keeps closed', () => {
    const { root, git, add, tracking } = makeRepository()
    add(PATH, 'src/a')
    git('commit', '-qm', 'more')
    git('sparse-checkout', 'init', '--cone', '--sparse-index')
    git('sparse-checkout', 'set', 'src')
    expect(readFileSync(join(root, '.git/index')).includes('sdir')).toBe(true)
    expect(tracking()).toBe('tracked')
    expect(tracking('.other/file')).toBe('untracked')
  })

  it('is read whole when part of it is in another file', () => {
    const { fill, git, add, tracking } = makeRepository()
    fill([PATH])
    git('update-index', '--split-index')
    expect(tracking()).toBe('tracked')
    add('a')
    expect(tracking('.claude/other')).toBe('untracked')
  })

  it.each<[string, (root: string) => void]>([
    ['that is no index', (root) => writeFileSync(join(root, '.git/index'), 'DIRC')],
    ['of a repository without a HEAD', (root) => rmSync(join(root, '.git/HEAD'))],
    ['of a repository that git cannot read', (root) => writeFileSync(join(root, '.git/config'), '[')],
  ])('%s tells nothing for sure', (_what, damage) => {
    const { root, add, tracking } = makeRepository()
    add('a', 'b/c')
    damage(root)
    expect(tracking()).toBe('unsure')
  })

  it('tells nothing for sure without git', () => {
    const { root, add } = makeRepository()
    add('a')
    const git = { gitDir: join(root, '.git') }
    expect(trackingOf({ root, git }, PATH, '/nowhere', createProbe())).toBe('unsure')
  })

  it('is read without running anything that the repository names', () => {
    const { root, git, add, tracking } = makeRepository()
    add('a')
    const trace = join(root, 'ran')
    const program = join(root, 'program')
    writeFileSync(program, `#!/bin/sh\ntouch ${trace}\n`, { mode: 0o755 })
    mkdirSync(join(root, 'hooks'))
    writeFileSync(join(root, 'hooks/post-index-change'), `#!/bin/sh\ntouch ${trace}\n`, { mode: 0o755 })
    git('config', 'core.fsmonitor', program)
    git('config', 'core.hooksPath', join(root, 'hooks'))
    git('config', 'core.pager', program)
    expect(tracking()).toBe('untracked')
    expect(existsSync(trace)).toBe(false)
  })
})
