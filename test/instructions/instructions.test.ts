import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { makeTree } from './tree.ts'

describe('instruction files', () => {
  it('come in all kinds, lowest priority first', () => {
    const { at, plant, load } = makeTree()
    plant({
      'etc/CLAUDE.md': 'managed',
      'home/.claude/CLAUDE.md': 'user',
      'home/.claude/rules/b.md': 'user rule b',
      'home/.claude/rules/a.md': 'user rule a',
      'home/work/CLAUDE.md': 'root',
      'home/work/.claude/CLAUDE.md': 'root, hidden',
      'home/work/.claude/rules/z.md': 'rule z',
      'home/work/.claude/rules/deep/er/a.md': 'rule a',
      'home/work/.claude/rules/notes.txt': 'no rule',
      'home/work/CLAUDE.local.md': 'root, local',
      'home/work/packages/CLAUDE.local.md': 'packages, local',
      'home/work/packages/app/CLAUDE.md': 'app',
      'home/work/packages/app/.claude/rules/a.md': 'app rule',
      'home/work/packages/other/CLAUDE.md': 'not on the way',
      'home/work/packages/app/src/CLAUDE.md': 'below',
      'home/CLAUDE.md': 'above',
    })
    expect(load({ cwd: at('home/work/packages/app') })).toEqual([
      { kind: 'managed', path: at('etc/CLAUDE.md'), content: 'managed' },
      { kind: 'user', path: at('home/.claude/CLAUDE.md'), content: 'user' },
      { kind: 'user', path: at('home/.claude/rules/a.md'), content: 'user rule a' },
      { kind: 'user', path: at('home/.claude/rules/b.md'), content: 'user rule b' },
      { kind: 'project', path: at('home/work/CLAUDE.md'), content: 'root' },
      { kind: 'project', path: at('home/work/.claude/CLAUDE.md'), content: 'root, hidden' },
      { kind: 'project', path: at('home/work/.claude/rules/deep/er/a.md'), content: 'rule a' },
      { kind: 'project', path: at('home/work/.claude/rules/z.md'), content: 'rule z' },
      { kind: 'project', path: at('home/work/packages/app/CLAUDE.md'), content: 'app' },
      { kind: 'project', path: at('home/work/packages/app/.claude/rules/a.md'), content: 'app rule' },
      { kind: 'local', path: at('home/work/CLAUDE.local.md'), content: 'root, local' },
      { kind: 'local', path: at('home/work/packages/CLAUDE.local.md'), content: 'packages, local' },
    ])
  })

  it('may all be missing, and the folders with them', () => {
    const { at, load } = makeTree()
    expect(load()).toEqual([])
    expect(load({ cwd: at('gone/below'), root: at('gone'), home: at('no'), claudeDir: at('no/.claude') })).toEqual([])
    expect(load({ cwd: 'a\0b', root: 'a\0b', files: ['a\0b'] })).toMatchObject([{ content: '' }, {}, {}, {}])
  })

  it('count AGENTS.md only when told to, below CLAUDE.md of the same folder', () => {
    const { plant, paths, at } = makeTree()
    plant({
      'home/work/AGENTS.md': 'x',
      'home/work/CLAUDE.md': 'x',
      'home/work/a/AGENTS.md': 'x',
      'home/.claude/AGENTS.md': 'x',
    })
    expect(paths({ cwd: at('home/work/a') })).toEqual(['home/work/CLAUDE.md'])
    expect(paths({ cwd: at('home/work/a'), agentsMd: true })).toEqual([
      'home/work/AGENTS.md',
      'home/work/CLAUDE.md',
      'home/work/a/AGENTS.md',
    ])
  })

  it('appear once when the project is the home, or one is a link to another', () => {
    const { at, plant, paths, home } = makeTree()
    plant({ 'home/.claude/CLAUDE.md': 'user', 'home/.claude/rules/a.md': 'rule', 'home/AGENTS.md': 'agents' })
    symlinkSync('AGENTS.md', at('home/CLAUDE.md'))
    expect(paths({ cwd: home, root: home, agentsMd: true })).toEqual([
      'home/.claude/CLAUDE.md',
      'home/.claude/rules/a.md',
      'home/AGENTS.md',
    ])
  })

  it('are those of the root alone when cwd is not in it, by name or by place', () => {
    const { at, plant, paths } = makeTree()
    plant({ 'home/work/CLAUDE.md': 'x', 'home/else/CLAUDE.md': 'x', 'home/work2/CLAUDE.md': 'x' })
    symlinkSync(at('home/else'), at('home/work/link'))
    for (const cwd of ['home/else', 'home/work2', 'home/work/link'])
      expect(paths({ cwd: at(cwd) })).toEqual(['home/work/CLAUDE.md'])
  })

  it('are found through a link to the project', () => {
    const { at, plant, paths } = makeTree()
    plant({ 'home/work/CLAUDE.md': '@a.md', 'home/work/a.md': 'x', 'home/work/sub/CLAUDE.md': 'x' })
    symlinkSync(at('home/work'), at('shortcut'))
    expect(paths({ root: at('shortcut'), cwd: at('shortcut/sub') })).toEqual([
      'home/work/a.md',
      'home/work/CLAUDE.md',
      'home/work/sub/CLAUDE.md',
    ])
  })

  it('lose byte order mark, carriage returns and front matter, and are left out when nothing remains', () => {
    const { at, plant, load } = makeTree()
    plant({
      'home/work/CLAUDE.md': '\uFEFF---\r\nowner: me\r\n---\r\n# Title\r\n@a.txt\r\n',
      'home/work/a.txt': '---\nkept: yes\n---\n',
      'home/work/CLAUDE.local.md': ' \n\n',
    })
    expect(load()).toEqual([
      { kind: 'project', path: at('home/work/a.txt'), content: '---\nkept: yes\n---\n' },
      { kind: 'project', path: at('home/work/CLAUDE.md'), content: '# Title\n@a.txt\n' },
    ])
  })

  it('load above 40,000 characters with a warning', () => {
    const { at, plant, load } = makeTree()
    const [long, longer] = ['é'.repeat(40_000), 'é'.repeat(40_001)]
    plant({ 'home/work/CLAUDE.md': long, 'home/work/CLAUDE.local.md': longer })
    expect(load()).toEqual([
      { kind: 'project', path: at('home/work/CLAUDE.md'), content: long },
      {
        kind: 'local',
        path: at('home/work/CLAUDE.local.md'),
        content: longer,
        warning: 'it has 40001 characters, more than 40000: move detail to files that are read when needed',
      },
    ])
  })

  it('that cannot be loaded say so, without waiting for a pipe', () => {
    const { at, plant, load } = makeTree()
    plant({ 'home/work/.claude/CLAUDE.md': 'x', 'home/work/.claude/rules/nul.md': 'a\0b' })
    plant({ 'home/work/.claude/rules/latin.md': Uint8Array.of(0x63, 0x61, 0x66, 0xe9) })
    mkdirSync(at('home/work/CLAUDE.md'))
    execFileSync('mkfifo', [at('home/work/CLAUDE.local.md')])
    truncateSync(at('home/work/.claude/CLAUDE.md'), 5_000_001)
    mkdirSync(at('home/.claude'))
    symlinkSync('CLAUDE.md', at('home/.claude/CLAUDE.md'))
    const failed = (kind: string, path: string, warning: string) => ({ kind, path: at(path), content: '', warning })
    expect(load()).toEqual([
      failed('user', 'home/.claude/CLAUDE.md', 'not loaded: it cannot be read (ELOOP)'),
      failed('project', 'home/work/CLAUDE.md', 'not loaded: it is not a file'),
      failed('project', 'home/work/.claude/CLAUDE.md', 'not loaded: it has 5000001 bytes, more than 5000000'),
      failed('project', 'home/work/.claude/rules/latin.md', 'not loaded: it is not UTF-8 text'),
      failed('project', 'home/work/.claude/rules/nul.md', 'not loaded: it is not UTF-8 text'),
      failed('local', 'home/work/CLAUDE.local.md', 'not loaded: it is not a file'),
    ])
  })

  it('are at most 200, and say where they stop', () => {
    const { plant, load, at } = makeTree()
    const names = Array.from({ length: 250 }, (_, i) => `home/work/.claude/rules/${String(i).padStart(3, '0')}.md`)
    plant(Object.fromEntries(names.map((name) => [name, 'x'])))
    const items = load()
    expect(items).toHaveLength(201)
    expect(items.at(-1)).toEqual({
      kind: 'project',
      path: at('home/work/.claude/rules/200.md'),
      content: '',
      warning: 'not loaded, nor what follows: instructions exceed 200 files',
    })
  })

  it('are read up to a total, rules that do not apply included', () => {
    const { plant, load } = makeTree()
    const rule = `---\npaths: x\n---\n${'x'.repeat(4_000_000)}`
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `home/work/.claude/rules/${name}.md`)
    plant(Object.fromEntries(names.map((name) => [name, rule])))
    expect(load().map(({ warning }) => warning)).toEqual([
      'not loaded, nor what follows: instructions exceed 10000000 bytes, front matter counted 50 times',
    ])
  })

  it('do not keep the daemon busy with front matter', () => {
    const { plant, load } = makeTree()
    const names = Array.from({ length: 10 }, (_, i) => `home/work/.claude/rules/${i}.md`)
    plant(Object.fromEntries(names.map((name) => [name, `---\n${'['.repeat(60_000)}\n---\nx`])))
    expect(load().map(({ warning }) => warning?.slice(0, 36))).toEqual([
      ...Array(3).fill('the front matter is not valid: it ne'),
      'not loaded, nor what follows: instru',
    ])
  })

  it('stop listing rules in a folder of thousands', () => {
    const { plant, load, at } = makeTree()
    const names = Array.from({ length: 2100 }, (_, i) => `home/work/.claude/rules/${i}.txt`)
    plant(Object.fromEntries(names.map((name) => [name, ''])))
    plant({ 'home/work/CLAUDE.local.md': 'still read' })
    expect(load()).toEqual([
      {
        kind: 'project',
        path: at('home/work/.claude/rules'),
        content: '',
        warning: 'not loaded: folders of rules hold more than 2000 names; the rest is left out',
      },
      { kind: 'local', path: at('home/work/CLAUDE.local.md'), content: 'still read' },
    ])
  })
})

describe('rules with paths', () => {
  const rule = (paths: string) => `---\npaths: ${paths}\n---\nrule`

  it('apply to matching files only, and to none when none is given', () => {
    const { plant, paths, at } = makeTree()
    plant({
      'home/.claude/rules/user.md': rule('"**/*.ts"'),
      'home/work/.claude/rules/always.md': 'rule',
      'home/work/.claude/rules/list.md': rule('\n  - docs/**\n  - "*.md"'),
      'home/work/.claude/rules/string.md': rule('src/**/*.{ts,tsx}'),
    })
    const applied = (...files: string[]) => paths({ files }).map((path) => path.replace(/^.*\/(.*)\.md$/, '$1'))
    expect(applied()).toEqual(['always'])
    expect(paths()).toEqual(['home/work/.claude/rules/always.md'])
    expect(applied('src/a/b.ts')).toEqual(['user', 'always', 'string'])
    expect(applied('./src/b.tsx')).toEqual(['always', 'string'])
    expect(applied(at('home/work/docs/x'))).toEqual(['always', 'list'])
    expect(applied('README.md', 'src/c.ts')).toEqual(['user', 'always', 'list', 'string'])
    expect(applied('../src/b.ts', at('home/src/b.ts'), 'src.ts/b')).toEqual(['always'])
  })

  it('may be written as people write them', () => {
    const { plant, load } = makeTree()
    plant({
      'home/work/.claude/rules/a.md': rule('**/*.ts'),
      'home/work/.claude/rules/b.md': rule('{src,lib}/**/*.ts, test/**'),
      'home/work/.claude/rules/c.md': rule('\n  - **/*.ts\n  - *.md'),
      'home/work/.claude/rules/d.md': rule('./src/'),
      'home/work/.claude/rules/e.md': rule(''),
    })
    const items = load({ files: ['src/a.ts'] })
    expect(items.map(({ path, content, warning }) => [path.slice(-4), content, warning])).toEqual([
      ['a.md', 'rule', undefined],
      ['b.md', 'rule', undefined],
      ['c.md', 'rule', undefined],
      ['d.md', 'rule', undefined],
      ['e.md', 'rule', undefined],
    ])
    expect(load({ files: ['else/a.go'] })).toHaveLength(1)
  })

  it('take absolute globs, under any name of the root', () => {
    const { plant, paths, at } = makeTree()
    symlinkSync(at('home/work'), at('shortcut'))
    plant({
      'home/work/.claude/rules/a.md': rule(`${at('home/work')}/src/*`),
      'home/work/.claude/rules/b.md': rule(`${at('shortcut')}/src/*`),
    })
    const both = ['home/work/.claude/rules/a.md', 'home/work/.claude/rules/b.md']
    for (const file of ['src/x', at('home/work/src/x'), at('shortcut/src/x')])
      expect(paths({ root: at('shortcut'), cwd: at('shortcut'), files: [file] })).toEqual(both)
    expect(paths({ root: at('shortcut'), cwd: at('shortcut'), files: ['src/x/y'] })).toEqual([])
  })

  it('load as plain text, with a warning, when their front matter is broken', () => {
    const { plant, load, at } = makeTree()
    const broken = '---\npaths: [a\n  b: "\n---\nrule'
    plant({
      'home/work/.claude/rules/a.md': broken,
      'home/work/.claude/rules/b.md': '---js\nprocess.exit(1)\n---\nrule',
      'home/work/.claude/rules/c.md': rule('{a: 1}'),
    })
    const item = (name: string, content: string, warning: unknown) => ({
      kind: 'project',
      path: at(`home/work/.claude/rules/${name}`),
      content,
      warning,
    })
    expect(load()).toEqual([
      item('a.md', broken, expect.stringMatching(/^the front matter is not valid: /)),
      item('b.md', '---js\nprocess.exit(1)\n---\nrule', 'front matter in js is not read, only YAML'),
      item('c.md', 'rule', '`paths` must be a glob or a list of globs; the rule applies everywhere'),
    ])
  })

  it('are left out with a warning when there are too many to compare', () => {
    const { plant, load } = makeTree()
    const globs = JSON.stringify(Array.from({ length: 60 }, () => '*a'.repeat(500)))
    plant({ 'home/work/.claude/rules/a.md': rule(globs), 'home/work/.claude/rules/b.md': rule(globs) })
    expect(load({ files: ['b'.repeat(1000)] })).toMatchObject([
      { warning: 'not loaded: its `paths` are too many to compare' },
    ])
  })
})
