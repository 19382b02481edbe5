import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { trackingOf } from '../../daemon/projects/git-index.ts'
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
    tracking: (path = PATH) => trackingOf(readFileSync(join(root, '.git/index')), path),
  }
}

const formats: [string, string[], string[]][] = [
  ['version 2', [], ['--index-version', '2']],
  ['version 4', [], ['--index-version', '4']],
  ['version 2 with SHA-256', ['--object-format=sha256'], ['--index-version', '2']],
  ['version 4 with SHA-256', ['--object-format=sha256'], ['--index-version', '4']],
]

describe('an index', () => {
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

  it('is unsure when part of it is in another file', () => {
    const { root, git, fill, add, tracking } = makeRepository()
    fill([PATH])
    git('update-index', '--split-index')
    // No entry is left in the index itself, so nothing but the mark of the other file tells.
    expect(readFileSync(join(root, '.git/index')).readUInt32BE(8)).toBe(0)
    expect(tracking()).toBe('unsure')
    add('a')
    expect(tracking()).toBe('unsure')
  })

  it('agrees with git on any set of names', () => {
    const repositories = [makeRepository(), makeRepository()] as const
    repositories[1].fill(['seed'])
    repositories[1].git('update-index', '--index-version', '4')
    const part = fc.constantFrom('.claude', 'settings.local.json', 'a', 'é', '-', 'long'.repeat(60), 'settings.local')
    const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
    fc.assert(
      fc.property(fc.array(name, { maxLength: 12 }), fc.constantFrom(...repositories), (names, repository) => {
        repository.git('read-tree', '--empty')
        repository.fill(names)
        const listed = repository.git('ls-files', '-z').split('\0')
        const expected = listed.includes(PATH) || listed.includes('.claude') ? 'tracked' : 'untracked'
        expect(repository.tracking()).toBe(expected)
      }),
      { numRuns: 40 },
    )
  })

  it('is unsure about anything that is not whole', () => {
    const { root, git, add } = makeRepository()
    add('a', 'b/c', PATH, 'z')
    for (const version of ['2', '4']) {
      git('update-index', '--index-version', version)
      const index = readFileSync(join(root, '.git/index'))
      for (let length = 0; length < index.length; length++)
        expect(trackingOf(index.subarray(0, length), PATH)).not.toBe('untracked')
    }
    for (const bytes of [Buffer.alloc(0), Buffer.from('DIRC'), Buffer.alloc(1_000_000, 0xff)])
      expect(trackingOf(bytes, PATH)).toBe('unsure')
  })

  it('never throws, whatever its bytes', () => {
    const { root, git, add } = makeRepository()
    add('a', PATH, 'z')
    git('update-index', '--index-version', '4')
    const index = readFileSync(join(root, '.git/index'))
    const change = fc.tuple(fc.nat(index.length - 1), fc.nat(255))
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), (changes) => {
        const damaged = Buffer.from(index)
        for (const [at, byte] of changes) damaged[at] = byte
        expect(['tracked', 'untracked', 'unsure']).toContain(trackingOf(damaged, PATH))
      }),
      { numRuns: 500 },
    )
  })

  it('with billions of entries announced ends with the bytes', () => {
    const head = Buffer.alloc(200)
    head.write('DIRC')
    head.writeUInt32BE(2, 4)
    head.writeUInt32BE(0xffffffff, 8)
    expect(trackingOf(head, PATH)).toBe('unsure')
  })
})
