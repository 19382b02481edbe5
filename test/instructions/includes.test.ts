import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findMentions, withoutCode } from '../../daemon/instructions/includes.ts'
import { cpuMs } from '../support/cpu.ts'
import { makeTree } from './tree.ts'

describe('includes', () => {
  it('stand before the file that includes them, with its kind', () => {
    const { at, plant, load } = makeTree()
    plant({
      'etc/CLAUDE.md': '@./policy.md',
      'etc/policy.md': 'policy',
      'home/.claude/CLAUDE.md': 'see @~/notes/style.md',
      'home/notes/style.md': 'style',
      'home/work/CLAUDE.md': 'see @docs/a.md and @./b.txt.',
      'home/work/docs/a.md': '@../c.md',
      'home/work/b.txt': 'b',
      'home/work/c.md': 'c',
      'home/work/CLAUDE.local.md': `@${at('home/work/d')}`,
      'home/work/d': 'd',
    })
    expect(load()).toEqual([
      { kind: 'managed', path: at('etc/policy.md'), content: 'policy' },
      { kind: 'managed', path: at('etc/CLAUDE.md'), content: '@./policy.md' },
      { kind: 'user', path: at('home/notes/style.md'), content: 'style' },
      { kind: 'user', path: at('home/.claude/CLAUDE.md'), content: 'see @~/notes/style.md' },
      { kind: 'project', path: at('home/work/c.md'), content: 'c' },
      { kind: 'project', path: at('home/work/docs/a.md'), content: '@../c.md' },
      { kind: 'project', path: at('home/work/b.txt'), content: 'b' },
      { kind: 'project', path: at('home/work/CLAUDE.md'), content: 'see @docs/a.md and @./b.txt.' },
      { kind: 'local', path: at('home/work/d'), content: 'd' },
      { kind: 'local', path: at('home/work/CLAUDE.local.md'), content: `@${at('home/work/d')}` },
    ])
  })

  it('appear once, however often and in whatever circle they are named', () => {
    const { at, plant, paths, load } = makeTree()
    plant({
      'home/work/CLAUDE.md': '@CLAUDE.md @a.md @b.md @./a.md @twin.md',
      'home/work/a.md': '@b.md @CLAUDE.md',
      'home/work/b.md': '@a.md @b.md',
      'home/work/CLAUDE.local.md': '@a.md',
    })
    symlinkSync('a.md', at('home/work/twin.md'))
    expect(paths()).toEqual(['home/work/b.md', 'home/work/a.md', 'home/work/CLAUDE.md', 'home/work/CLAUDE.local.md'])
    expect(load().every(({ warning }) => warning === undefined)).toBe(true)
  })

  it('go five deep, and the last one says what it left out', () => {
    const { plant, load, at } = makeTree()
    plant({ 'home/work/CLAUDE.md': '@1.md' })
    for (let i = 1; i <= 8; i++) plant({ [`home/work/${i}.md`]: `@${i + 1}.md @missing` })
    const items = load()
    expect(items.map(({ path }) => path.replace(at('home/work/'), ''))).toEqual([
      '5.md',
      '4.md',
      '3.md',
      '2.md',
      '1.md',
      'CLAUDE.md',
    ])
    expect(items.map(({ warning }) => warning)).toEqual([
      'what it includes is left out: includes go 5 deep',
      ...Array(5).fill(undefined),
    ])
  })

  it('are not taken from code', () => {
    const { plant, paths } = makeTree()
    plant({
      'home/work/CLAUDE.md': '`@a.md` ``x ` @a.md``\n```\n@a.md\n```\n- item\n\n    ~~~sh\n    @a.md\n    ~~~\n@b.md\n',
      'home/work/a.md': 'a',
      'home/work/b.md': 'b',
    })
    expect(paths()).toEqual(['home/work/b.md', 'home/work/CLAUDE.md'])
  })

  it('may have spaces, punctuation, parts and any letters in or behind their names', () => {
    const { plant, paths } = makeTree()
    plant({
      'home/work/CLAUDE.md': '@my\\ notes.md, (see @a.md), @b.md#setup. @c(1).md @日本語/メモ.md。\r\n@übung.md\\',
      'home/work/my notes.md': 'x',
      'home/work/a.md': 'x',
      'home/work/b.md': 'x',
      'home/work/c(1).md': 'x',
      'home/work/日本語/メモ.md': 'x',
      'home/work/übung.md': 'x',
    })
    expect(paths()).toEqual(
      ['my notes.md', 'a.md', 'b.md', 'c(1).md', '日本語/メモ.md', 'übung.md', 'CLAUDE.md'].map(
        (name) => `home/work/${name}`,
      ),
    )
  })

  it('that lead nowhere, to folders or to what is no text are passed over in silence', () => {
    const { at, plant, load } = makeTree()
    const text = 'ask @anna, a@b.md, @types/node, @docs, @logo.png, @binary, @pipe, @latin.md, @.env, @.git/config, @'
    plant({
      'home/work/CLAUDE.md': text,
      'home/work/b.md': 'x',
      'home/work/logo.png': 'x',
      'home/work/binary': 'a\0b',
      'home/work/latin.md': Uint8Array.of(0xe9),
      'home/work/.env': 'TOKEN=x',
      'home/work/.git/config': 'url = https://token@host',
    })
    mkdirSync(at('home/work/docs'))
    execFileSync('mkfifo', [at('home/work/pipe')])
    expect(load()).toEqual([{ kind: 'project', path: at('home/work/CLAUDE.md'), content: text }])
  })

  it('that are too large say so', () => {
    const { at, plant, load } = makeTree()
    plant({ 'home/work/CLAUDE.md': '@big.md', 'home/work/big.md': '' })
    truncateSync(at('home/work/big.md'), 5_000_001)
    expect(load()).toEqual([
      {
        kind: 'project',
        path: at('home/work/big.md'),
        content: '',
        warning: 'not loaded: it has 5000001 bytes, more than 5000000',
      },
      { kind: 'project', path: at('home/work/CLAUDE.md'), content: '@big.md' },
    ])
  })

  it('bring in a rule whatever its paths say', () => {
    const { plant, load } = makeTree()
    plant({
      'home/work/.claude/rules/a.md': '---\npaths: nothing\n---\nrule',
      'home/work/CLAUDE.local.md': '@.claude/rules/a.md',
    })
    expect(load().map(({ kind, content }) => [kind, content])).toEqual([
      ['local', 'rule'],
      ['local', '@.claude/rules/a.md'],
    ])
  })

  it('are looked up a bounded number of times', () => {
    const { plant, load } = makeTree()
    plant({
      'home/work/CLAUDE.md': Array.from({ length: 2000 }, (_, i) => `@x${i}`).join(' '),
      'home/work/CLAUDE.local.md': '@a.md',
      'home/work/a.md': 'x',
    })
    expect(load().map(({ warning }) => warning)).toEqual([undefined, 'only the first 2000 includes are looked up'])
  })
})

describe('a hostile repository', () => {
  const secrets = {
    'home/.ssh/id_rsa': 'SECRET',
    'home/.ssh/config.md': 'SECRET',
    'home/work2/a.md': 'SECRET',
    'outside/a.md': 'SECRET',
    'outside/rules/a.md': 'SECRET',
    'home/.claude/private.md': 'SECRET',
  }

  it.each([
    '@~/.ssh/id_rsa',
    '@~/.ssh/config.md',
    '@../.ssh/config.md',
    '@docs/../../.ssh/config.md',
    '@../work2/a.md',
    '@../../outside/a.md',
    '@/etc/passwd',
    '@~/.claude/private.md',
    '@~/work/../.ssh/id_rsa',
    '@~/.ssh/id_rsa.',
    '@link.md',
    '@folder/a.md',
    '@folder/../a.md',
    '@hop.md',
  ])('cannot include %s', (mention) => {
    const { at, plant, load } = makeTree()
    plant({ ...secrets, 'home/work/CLAUDE.md': mention, 'home/work/CLAUDE.local.md': `x ${mention}` })
    symlinkSync(at('home/.ssh/id_rsa'), at('home/work/link.md'))
    symlinkSync('link.md', at('home/work/hop.md'))
    symlinkSync('../../outside', at('home/work/folder'))
    const items = load()
    expect(JSON.stringify(items)).not.toContain('SECRET')
    expect(items.map(({ path }) => path)).toEqual([at('home/work/CLAUDE.md'), at('home/work/CLAUDE.local.md')])
  })

  it('is told apart from one that made a mistake: the include is named', () => {
    const { at, plant, load } = makeTree()
    plant({ ...secrets, 'home/work/CLAUDE.md': '@~/.ssh/id_rsa @/a @/b @/c' })
    expect(load()).toEqual([
      {
        kind: 'project',
        path: at('home/work/CLAUDE.md'),
        content: '@~/.ssh/id_rsa @/a @/b @/c',
        warning: 'not included, outside the allowed folders: @~/.ssh/id_rsa @/a @/b and 1 more',
      },
    ])
  })

  it('cannot make an instruction file of a link that leads out or to a hidden file', () => {
    const { at, plant, load } = makeTree()
    plant({ ...secrets, 'home/work/.env': 'SECRET' })
    mkdirSync(at('home/work/.claude/rules'), { recursive: true })
    symlinkSync(at('home/.ssh/id_rsa'), at('home/work/CLAUDE.md'))
    symlinkSync('.env', at('home/work/CLAUDE.local.md'))
    symlinkSync('../../../.ssh/config.md', at('home/work/.claude/rules/a.md'))
    symlinkSync(at('outside/rules'), at('home/work/.claude/rules/b'))
    const refused = (kind: string, path: string, warning: string) => ({ kind, path: at(path), content: '', warning })
    expect(load()).toEqual([
      refused('project', 'home/work/CLAUDE.md', 'not loaded: it leads outside the project'),
      refused('project', 'home/work/.claude/rules/a.md', 'not loaded: it leads outside the project'),
      refused('project', 'home/work/.claude/rules/b', 'not loaded: it leads outside the project'),
      refused('local', 'home/work/CLAUDE.local.md', 'not loaded: it leads to a file that is no text'),
    ])
  })

  it('cannot swap the folder of its rules for another, or for a circle', () => {
    const { at, plant, load } = makeTree()
    plant({ ...secrets, 'home/work/a/.claude/rules/r.md': 'rule' })
    symlinkSync(at('outside'), at('home/work/.claude'))
    symlinkSync('..', at('home/work/a/.claude/rules/up'))
    expect(load({ cwd: at('home/work/a') }).map(({ path, content }) => [path, content])).toEqual([
      [at('home/work/.claude/rules'), ''],
      [at('home/work/a/.claude/rules/r.md'), 'rule'],
    ])
  })

  it('gains nothing when the person includes a file of it', () => {
    const { plant, load } = makeTree()
    plant({ ...secrets, 'home/.claude/CLAUDE.md': '@~/work/notes.md', 'home/work/notes.md': '@~/.ssh/id_rsa' })
    expect(load().map(({ kind, content }) => [kind, content])).toEqual([
      ['user', '@~/.ssh/id_rsa'],
      ['user', '@~/work/notes.md'],
    ])
  })

  it('differs from the person, who may include what is at home, but not beyond', () => {
    const { at, plant, load } = makeTree()
    plant({
      'home/.claude/CLAUDE.md': '@private.md @~/work2/a.md @../../outside/a.md @link.md',
      'home/.claude/private.md': 'private',
      'home/work2/a.md': 'a',
      'outside/a.md': 'SECRET',
    })
    symlinkSync(at('outside/a.md'), at('home/.claude/link.md'))
    expect(load().map(({ content, warning }) => [content, warning])).toEqual([
      ['private', undefined],
      ['a', undefined],
      [expect.any(String), 'not included, outside the allowed folders: @../../outside/a.md @link.md'],
    ])
  })
})

const written = (text: string) => findMentions(text).map((mention) => mention.written)

describe('mentions', () => {
  it.each([
    ['@a.md', ['a.md']],
    ['@./a.md', ['./a.md']],
    ['@../a.md', ['../a.md']],
    ['@~/a.md', ['~/a.md']],
    ['@/a.md', ['/a.md']],
    ['@_a-b', ['_a-b']],
    ['@.claude/x.md', ['.claude/x.md']],
    ['@a\\ b.md', ['a b.md']],
    ['@a.md.', ['a.md.', 'a.md']],
    ['@a.md).', ['a.md).', 'a.md']],
    ['@a.md**:', ['a.md**:', 'a.md']],
    ['@a.md#part-1,', ['a.md#part-1,', 'a.md#part-1', 'a.md']],
    ['@übung.md、', ['übung.md、', 'übung.md']],
  ])('%s may mean %j', (text, names) => {
    expect(findMentions(`see\t${text}\r\nthere`)).toEqual([{ written: text, names }])
  })

  it.each(['a@b.md', '@', '@ a', '@@a', '@#1', '@(a)', '@~', '@~user', '@/', 'x.@a', '\\@a', `@${'a'.repeat(5000)}`])(
    'are not found in %j',
    (text) => {
      expect(findMentions(text)).toEqual([])
    },
  )

  it('are given once, in order', () => {
    expect(written('@b @a @b\n@c')).toEqual(['@b', '@a', '@c'])
  })

  it.each([
    ['a span', '`@x` @y'],
    ['a span of two backticks', '`` @x ` @x `` @y'],
    ['a span over two lines', 'a ` b\n@x ` @y'],
    ['a span that ends in a backslash', '`@x\\` @y'],
    ['a fence', '```\n@x\n```\n@y'],
    ['a fence with a language', '```ts title="a"\n@x\n```\n@y'],
    ['a fence of tildes', '~~~ `a`\n@x\n```\n@x\n~~~\n@y'],
    ['a longer fence', '````\n```\n@x\n```\n````\n@y'],
    ['a fence with spaces behind', '```  \n@x\n```  \n@y'],
    ['an indented fence', '   ```\n   @x\n   ```\n@y'],
    ['a fence in a list', '- a\n\n      ```\n      @x\n      ```\n- @y'],
    ['a fence right behind a list marker', '1. ```\n   @x\n   ```\n@y'],
    ['a quoted fence', '> ```\n> @x\n> ```\n> @y'],
    ['a quoted fence that never ends', '> ```\n> @x\n@y'],
    ['a fence that ends with the text', '@y\n```\n@x\n`` `\n'],
    ['a fence with carriage returns', '```\r\n@x\r\n```\r\n@y'],
  ])('are not found in %s, but beside it', (_what, text) => {
    expect(written(text)).toEqual(['@y'])
  })

  it.each([
    ['a lone backtick', 'a ` b @y'],
    ['backticks of different number', '`` a ` @y'],
    ['backticks of different paragraphs', 'a ` b\n\n@y ` c'],
    ['backticks of different list items', '- a ` b\n- @y ` c'],
    ['backticks of a heading and a paragraph', '# a `\n@y ` c'],
    ['an escaped backtick', '\\` @y `'],
    ['two backticks only', '``\n@y'],
    ['a span of three backticks on one line', '``` a ```\n@y'],
    ['indentation, as in a nested list', '- a\n    - @y'],
  ])('are found behind %s', (_what, text) => {
    expect(written(text)).toEqual(['@y'])
  })

  it('are found in any text without a throw, and are part of it', () => {
    const pieces = fc.constantFrom(
      '`',
      '``',
      '```',
      '~~~',
      '@',
      '@a',
      '\\',
      ' ',
      '\n',
      '\r\n',
      '> ',
      '- ',
      '1. ',
      '#',
      '\t',
    )
    const hostile = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 60 })
    fc.assert(
      fc.property(hostile, (parts) => {
        const text = parts.join('')
        for (const { written, names } of findMentions(text)) {
          expect(text).toContain(written)
          expect(names.length).toBeGreaterThan(0)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('are never found in a fence, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (inside) => {
        fc.pre(!inside.includes('~'))
        expect(written(`~~~\n @x ${inside} @x\n~~~`)).toEqual([])
      }),
    )
  })

  it('leave a text without code as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!/[`~]/.test(text))
        expect(withoutCode(text)).toBe(text)
      }),
    )
  })

  // A quadratic scan of these would take minutes, a linear one takes milliseconds.
  const half = 400_000
  it.each<[string, string]>([
    ['one word', '@'.repeat(2 * half)],
    ['punctuation', `@a${'.'.repeat(2 * half)}`],
    ['short words of punctuation', ' @a......'.repeat(half / 4)],
    ['escaped spaces', `@${'\\ '.repeat(half)}`],
    ['backslashes', '\\'.repeat(2 * half)],
    ['backslashes and backticks', '\\`'.repeat(half)],
    ['lone backticks of every length', Array.from({ length: 2000 }, (_, i) => '`'.repeat(i + 1)).join(' ')],
    ['backticks', '` '.repeat(half)],
    ['pairs that do not close', '`` ` '.repeat(half / 2)],
    ['fences', '```\n'.repeat(half / 2)],
    ['fences that do not close', '~~~~\n~~~\n'.repeat(half / 4)],
    ['list markers', '- '.repeat(half)],
    ['digits', '1'.repeat(2 * half)],
    ['quotes', '>'.repeat(2 * half)],
    ['quoted fences', '> ```\n'.repeat(half / 3)],
    ['blank lines', '\n'.repeat(2 * half)],
    ['spaces', ' '.repeat(2 * half)],
    ['headings', '#\n'.repeat(half)],
    ['mentions', Array.from({ length: half / 5 }, (_, i) => `@${i}`).join(' ')],
  ])('take no longer than the text is long: %s', (_what, text) => {
    expect(cpuMs(() => findMentions(text))).toBeLessThan(10_000)
  })
})
