import fc from 'fast-check'
import matter from 'gray-matter'
import { describe, expect, it } from 'vitest'
import { parseFrontMatter, readPlainYaml, readYaml } from '../../daemon/platform/front-matter.ts'
import { cpuMs } from '../support/cpu.ts'

const data = (yaml: string) => parseFrontMatter(`---\n${yaml}\n---\n`).data
const problem = (text: string) => parseFrontMatter(text).problem

describe('front matter', () => {
  it.each<[string, string, Record<string, unknown>, string]>([
    ['---\nname: x\n---\nbody\n', '---\nname: x\n---\n', { name: 'x' }, 'body\n'],
    ['\uFEFF---\r\nname: x\r\n---\r\nbody\r\n', '\uFEFF---\r\nname: x\r\n---\r\n', { name: 'x' }, 'body\r\n'],
    ['--- yaml \t\nname: x\n---  \n\nbody', '--- yaml \t\nname: x\n---  \n', { name: 'x' }, '\nbody'],
    ['---\n---\nbody', '---\n---\n', {}, 'body'],
    ['---\n# note\n\n---', '---\n# note\n\n---', {}, ''],
    ['---\na: |\n  x\n\n  y\n---\n---\n', '---\na: |\n  x\n\n  y\n---\n', { a: 'x\n\ny\n' }, '---\n'],
    ['body', '', {}, 'body'],
    ['\uFEFFbody', '\uFEFF', {}, 'body'],
    ['', '', {}, ''],
    ['---', '', {}, '---'],
    ['----\na: 1\n---\n', '', {}, '----\na: 1\n---\n'],
    ['--- a rule ---\nx', '', {}, '--- a rule ---\nx'],
    ['\n---\na: 1\n---\n', '', {}, '\n---\na: 1\n---\n'],
  ])('of %j', (text, raw, data, body) => {
    expect(parseFrontMatter(text)).toEqual({ raw, data, body })
  })

  it('keeps dates as strings, numbers as YAML 1.2 reads them, and knows no tags', () => {
    expect(
      data('a: 2024-05-01\nb: 012\nc: 0o14\nd: yes\ne: !!timestamp 2024-05-01\nf: !!binary aGk=\ng: !x y'),
    ).toEqual({ a: '2024-05-01', b: 12, c: 12, d: 'yes', e: '2024-05-01', f: 'aGk=', g: 'y' })
  })

  it('reads what people write that is no YAML', () => {
    expect(data('name: x\ndescription: Deploys: never on Friday #1\npaths: **/*.ts')).toEqual({
      name: 'x',
      description: 'Deploys: never on Friday #1',
      paths: '**/*.ts',
    })
    expect(data('description: [wip] a "b"\nat: @me\npaths:\n  - {a,b}/*\r\n  - *.md\nlist: [a, "b: c"]')).toEqual({
      description: '[wip] a "b"',
      at: '@me',
      paths: ['{a,b}/*', '*.md'],
      list: ['a', 'b: c'],
    })
  })

  it.each([
    ['---\na: 1\nbody', 'the front matter is not closed by a line of three dashes'],
    ['---\na: 1\n----\n---\n', 'the front matter is not closed by a line of three dashes'],
    ['---js\n{ a: process.exit(1) }\n---\n', 'front matter in js is not read, only YAML'],
    ['---JavaScript\n1\n---\n', 'front matter in JavaScript is not read, only YAML'],
    ['---json\n{}\n---\n', 'front matter in json is not read, only YAML'],
    ['---constructor\n{}\n---\n', 'front matter in constructor is not read, only YAML'],
    ['---\n- a\n---\n', 'the front matter is not valid: it must consist of `key: value` lines'],
    ['---\ntext\n---\n', 'the front matter is not valid: it must consist of `key: value` lines'],
    ['---\na: 1\na: 2\n---\n', 'the front matter is not valid: the key a appears twice'],
    ['---\nb: {a: 1, a: 2}\n---\n', 'the front matter is not valid: the key a appears twice'],
    ['---\na: &x 1\nb: *x\n---\n', 'the front matter is not valid: Alias resolution is disabled'],
    ['---\na: "\n---\n', 'the front matter is not valid: Missing closing "quote (line 3)'],
    [`---\na: ${'é'.repeat(32_768)}\n---\n`, 'the front matter is longer than 65536 bytes'],
    [`---\na: ${'a'.repeat(65_536)}\n---\n`, 'the front matter does not end within 65536 bytes'],
    [`---\n${'\n'.repeat(1001)}a: 1\n---\n`, 'the front matter has more than 1000 lines'],
  ])('that cannot be read is body: %#', (text, expected) => {
    expect(parseFrontMatter(text)).toEqual({ data: {}, raw: '', body: text, problem: expected })
  })

  it('nests fifty deep and no deeper: a stack overflow in the YAML library can end the process', () => {
    expect(problem(`---\na: ${'['.repeat(48)}${']'.repeat(48)}\n---\n`)).toBeUndefined()
    for (const opening of ['[', '{a: ', '- ', '? ', '- a: [', '- - [{'])
      for (const times of [60, 3000])
        expect(problem(`---\n${opening.repeat(times)}\n---\n`)).toMatch(/nests more than 50 deep/)
  })

  it('refuses alias bombs', () => {
    const bomb = Array.from({ length: 20 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`)}]`)
    expect(problem(`---\na0: &a0 [x]\n${bomb.join('\n')}\n---\n`)).toMatch(/not valid/)
  })

  it('lets no key reach a prototype', () => {
    const read = data('__proto__: {polluted: 1}\nconstructor: {prototype: {polluted: 1}}')
    expect(Object.keys(read)).toEqual(['__proto__', 'constructor'])
    expect('polluted' in {}).toBe(false)
    expect('polluted' in read).toBe(false)
  })

  it('keeps no copy of what it read', () => {
    parseFrontMatter('---\nname: kept?\n---\nbody')
    expect((matter as unknown as { cache: object }).cache).toEqual({})
  })

  it('never throws, and loses no character', () => {
    const pieces = fc.constantFrom(
      '---',
      '\n',
      '\r\n',
      ': ',
      '- ',
      '[',
      '{',
      '&a',
      '*a',
      '"',
      "'",
      '|',
      '#',
      '\uFEFF',
      '%',
      '!',
    )
    const hostile = fc.array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 30 })
    fc.assert(
      fc.property(hostile, fc.boolean(), (parts, framed) => {
        const text = framed ? `---\n${parts.join('')}\n---\nbody` : parts.join('')
        const { raw, body, problem } = parseFrontMatter(text)
        expect(raw + body).toBe(text)
        if (problem) expect(problem).not.toContain('\n')
      }),
      { numRuns: 1000 },
    )
  })

  const size = 60_000
  it.each<[string, string]>([
    ['keys', `a: {${Array.from({ length: size / 5 }, (_, i) => i).join(',')}}`],
    ['nested lists', '['.repeat(size)],
    ['nested items', '- '.repeat(size / 2)],
    ['nested maps', '{a: '.repeat(size / 4)],
    ['anchors', '&a '.repeat(size / 3)],
    ['white space', `a: 1\n${`${' '.repeat(50)}\n`.repeat(900)}`],
    ['nested keys', 'a: '.repeat(size / 3)],
    ['explicit keys', '? '.repeat(size / 2)],
    ['mixed nesting', '- ? [{'.repeat(size / 6)],
    ['tags', '!'.repeat(size)],
    ['aliases', `a: [${'*a,'.repeat(size / 3)}]`],
  ])('takes no time worth the name: %s', (_what, yaml) => {
    expect(cpuMs(() => parseFrontMatter(`---\n${yaml}\n---\n`))).toBeLessThan(5000)
  })
})

describe('plain front matter', () => {
  it('is read as its words', () => {
    expect(readPlainYaml('name: Über die Tests\ndescription: Run "all" of them, twice  \ntype: feedback\n')).toEqual({
      name: 'Über die Tests',
      description: 'Run "all" of them, twice',
      type: 'feedback',
    })
  })

  it('is read in quotes, and below a key', () => {
    const yaml =
      'name: "a: \\"b\\" \\\\ c"  \nmetadata:\n  type: user\n  from: "#1"\ndescription: 12 apples (-x)\nmodified: 2026-09-22T20:53:33.971Z\n'
    expect(readPlainYaml(yaml)).toEqual({
      name: 'a: "b" \\ c',
      metadata: { type: 'user', from: '#1' },
      description: '12 apples (-x)',
      modified: '2026-09-22T20:53:33.971Z',
    })
  })

  it.each([
    'name: "a\\n"',
    'name: "a" b',
    "name: 'quoted'",
    'name: 12',
    'name: ~',
    'a:\nb: c',
    'a:\n  b:\n    c: d',
    'a:\n  b: c\n d: e',
    'a: b\n  c: d',
    '  a: b',
    'a:\n  b: c\n  b: d',
    'name: true',
    'name: Null',
    'name: a: b',
    'name: a #b',
    'name: - a',
    'name:',
    'name: |',
    'name: a\n  goes on',
    'name: a\nname: b',
    '__proto__: a',
    'true: a',
    '- a',
    'name: a:',
    'name:\ta',
    '---',
  ])('is left to the library when it may mean something else: %j', (yaml) => {
    expect(readPlainYaml(`${yaml}\n`)).toBeUndefined()
  })

  it('means the same to the library, whatever it is', () => {
    const pieces = [
      ':',
      '#',
      ' ',
      '-',
      '&',
      '*',
      '!',
      '|',
      '>',
      '%',
      '@',
      '`',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      ',',
      '?',
      '~',
      '\\',
      '.',
      '\t',
    ]
    const text = fc
      .array(
        fc.oneof(
          fc.constantFrom('word', 'no', 'null', 'Yes', 'é', '中', '1e3', '\u00a0', '\u0085', ...pieces),
          fc.string({ unit: 'grapheme', maxLength: 3 }),
        ),
        { maxLength: 6 },
      )
      .map((parts) => parts.join(''))
    const line = fc
      .tuple(
        fc.constantFrom('name', 'type', 'a-b', 'True', 'y', 'on', '_x', '__proto__', 'k1'),
        fc.constantFrom(' ', '  ', '', '\t'),
        text,
      )
      .map(([key, space, value]) => `${key}:${space}${value}`)
    const quoted = fc
      .tuple(fc.constantFrom('name', 'type'), fc.oneof(text, fc.string({ unit: 'binary', maxLength: 8 })))
      .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    const nested = fc
      .tuple(
        fc.constantFrom('a', 'b'),
        fc.array(fc.tuple(fc.constantFrom(' ', '  ', '   ', ''), line), { maxLength: 3 }),
      )
      .map(([key, lines]) => [`${key}:`, ...lines.map(([indent, below]) => indent + below)].join('\n'))
    let plain = 0
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            { weight: 9, arbitrary: line },
            { weight: 3, arbitrary: quoted },
            { weight: 3, arbitrary: nested },
            text,
          ),
          { minLength: 1, maxLength: 4 },
        ),
        (lines) => {
          const yaml = `${lines.join('\n')}\n`
          const short = readPlainYaml(yaml)
          if (short === undefined) return
          plain += 1
          expect(readYaml(yaml)).toEqual(short)
        },
      ),
      { numRuns: 5_000 },
    )
    expect(plain).toBeGreaterThan(80)
  })
})
