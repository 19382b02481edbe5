import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openFolder } from '../../daemon/memory/folder.ts'
import {
  indexProblems,
  loadIndex,
  parsePointers,
  upkeep,
  withoutPointer,
  withPointers,
} from '../../daemon/memory/index-file.ts'
import type { Pointer } from '../../daemon/memory/pointer.ts'
import { makeHome } from '../support/home.ts'

const withPointer = (content: string, pointer: Pointer) => withPointers(content, [pointer])

const ending = fc.constantFrom('\n', '\n', '\r\n')

describe('the pointers of an index', () => {
  it('are found in all the ways people write them', () => {
    const content = [
      '# Memory',
      '- [Role](user_role.md) — writes Go',
      '* [Testing](feedback_testing.md) - no mocks\r',
      '  + [Nested](team/a.md) – shared',
      '- [No hook](plain.md)',
      '- [Spaces](my%20file.md): encoded',
      '- [Angle](<my other (1).md>) — in brackets',
      '- [Bare](with space (2).md) text without a dash',
      '- [a \\[b\\] [c]](./x/../y.md#part "tip") — - dash',
      '- [ ] a task',
      '- [x] (done)',
      'Some [link](other.md) in prose',
      '- [Site](https://example.com/a//b.md) — not a file',
      '- [Odd](100%.md) — not encoded',
      '- [Empty]() — nothing',
    ].join('\n')
    expect(parsePointers(content)).toEqual([
      { line: 2, title: 'Role', file: 'user_role.md', hook: 'writes Go' },
      { line: 3, title: 'Testing', file: 'feedback_testing.md', hook: 'no mocks' },
      { line: 4, title: 'Nested', file: 'team/a.md', hook: 'shared' },
      { line: 5, title: 'No hook', file: 'plain.md', hook: '' },
      { line: 6, title: 'Spaces', file: 'my file.md', hook: 'encoded' },
      { line: 7, title: 'Angle', file: 'my other (1).md', hook: 'in brackets' },
      { line: 8, title: 'Bare', file: 'with space (2).md', hook: 'text without a dash' },
      { line: 9, title: 'a [b] [c]', file: 'y.md', hook: '- dash' },
      { line: 13, title: 'Site', file: 'https://example.com/a//b.md', hook: 'not a file' },
      { line: 14, title: 'Odd', file: '100%.md', hook: 'not encoded' },
    ])
  })

  it('are looked for in reasonable time in a hostile file', () => {
    for (const hostile of ['- [', '- [a](', '- [a]( ', '(', ' ', '\\', '[a', '- [a](<']) {
      const text = hostile.repeat(1_000_000 / hostile.length)
      expect(parsePointers(`- [a](b${text}\n${text.slice(0, 4000)}\n- [a](${text.slice(0, 4000)}`).length).toBeLessThan(
        3,
      )
    }
  })
})

const role = { file: 'user_role.md', title: 'Role', hook: 'writes Go' }

describe('adding a pointer', () => {
  it('starts an index that is not there', () => {
    expect(withPointer('', role)).toBe('- [Role](user_role.md) — writes Go\n')
  })

  it('follows the last pointer in its style, and leaves what comes after', () => {
    const content = '# Memory\r\n\r\n## Work\r\n* [A](a.md) - x\r\n  more about a\r\n\r\n## Notes\r\nprose'
    expect(withPointer(content, role)).toBe(
      '# Memory\r\n\r\n## Work\r\n* [A](a.md) - x\r\n  more about a\r\n* [Role](user_role.md) — writes Go\r\n\r\n## Notes\r\nprose',
    )
  })

  it.each([
    ['# Memory\n', '# Memory\n- [Role](user_role.md) — writes Go\n'],
    ['# Memory', '# Memory\n- [Role](user_role.md) — writes Go'],
    ['# Memory\r\nx', '# Memory\r\nx\r\n- [Role](user_role.md) — writes Go'],
  ])('stands at the end of an index without pointers: %j', (content, expected) => {
    expect(withPointer(content, role)).toBe(expected)
  })

  it('does not repeat a byte order mark', () => {
    expect(withPointer('\uFEFF* [A](a.md)', role)).toBe('\uFEFF* [A](a.md)\n* [Role](user_role.md) — writes Go')
  })

  it('changes only title and hook of a line that is there', () => {
    const content = 'intro\n  *  [Old](<user_role.md>) - was\r\n\n- [B](b.md)'
    expect(withPointer(content, role)).toBe('intro\n  *  [Role](<user_role.md>) - writes Go\r\n\n- [B](b.md)')
    expect(withPointer('\uFEFF- [Role](user_role.md)\n', role)).toBe('\uFEFF- [Role](user_role.md) — writes Go\n')
  })

  it('leaves a line alone that says the same, at any length', () => {
    const hook = 'a long explanation of the matter, '.repeat(8).trim()
    for (const line of ['+ [Role](./user_role.md) -- writes Go', `- [Role](user_role.md) — ${hook}`])
      expect(withPointer(line, { ...role, hook: line.includes('Go') ? 'writes  Go ' : hook })).toBe(line)
  })
})

describe('removing a pointer', () => {
  it('takes every line of that file and no other', () => {
    const content = '- [A](a.md)\n- [Role](user_role.md)\r\ntext\n* [Again](./user_role.md) — x\n'
    expect(withoutPointer(content, 'user_role.md')).toBe('- [A](a.md)\ntext\n')
    expect(withoutPointer(content, 'c.md')).toBe(content)
  })

  const line = fc.oneof(
    fc.constantFrom(
      '',
      '# Memory',
      '- [A](a.md) — x',
      '  * [B](b (1).md)',
      '\t more',
      '- item',
      '---',
      '\uFEFF- [C](c.md)',
      'x\r',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const index = fc
    .tuple(fc.array(fc.tuple(line, ending), { maxLength: 8 }), fc.oneof(fc.constant(''), line))
    .map(([lines, last]) => lines.map(([text, end]) => text + end).join('') + last)
  const name = fc
    .string({
      unit: fc.oneof(
        fc.constantFrom('a', ' ', '(', ')', '[', ']', '<', '>', '%', '#', '\\', '2', '0', "'", '"'),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      ),
      minLength: 1,
      maxLength: 12,
    })
    .map((text) => `${text.replaceAll('/', '')}.md`)
  const words = fc.string({ unit: 'binary', maxLength: 90 })

  it('gives back the bytes from before it was added', () => {
    fc.assert(
      fc.property(index, name, words, words, (content, file, title, hook) => {
        fc.pre(parsePointers(content).every((pointer) => pointer.file !== file))
        const added = withPointer(content, { file, title, hook })
        expect(parsePointers(added).filter((pointer) => pointer.file === file)).toHaveLength(1)
        expect(withPointer(added, { file, title, hook })).toBe(added)
        expect(withoutPointer(added, file)).toBe(content)
      }),
      { numRuns: 500 },
    )
  })

  it('leaves all other lines as they are when one is updated', () => {
    fc.assert(
      fc.property(index, name, words, words, (content, file, title, hook) => {
        fc.pre(parsePointers(content).every((pointer) => pointer.file !== file))
        const added = withPointer(content, { file, title: 'first', hook: 'first' })
        const updated = withPointer(added, { file, title, hook })
        expect(withoutPointer(updated, file)).toBe(content)
        const lineOf = (text: string) => parsePointers(text).find((pointer) => pointer.file === file)?.line
        expect(lineOf(updated)).toBe(lineOf(added))
      }),
      { numRuns: 500 },
    )
  })
})

describe('many pointers at once', () => {
  it('are what they would be one after the other, whatever stands in the index', () => {
    const file = fc.constantFrom('a.md', 'b.md', 'c.md', 'd.md', 'e.md')
    const line = fc.oneof(
      file.map((name) => `- [Old](${name}) — hook`),
      fc.constantFrom(
        '# Heading',
        '',
        'prose',
        '  - [Sub](s.md) — x',
        '* [Star](a.md): y',
        '- [Two](b.md) — one\n  goes on',
      ),
    )
    const index = fc
      .tuple(fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\r\n'), fc.constantFrom('', '\n', '\r\n', '\n\n'))
      .map(([lines, end, last]) => lines.join(end) + last)
    const pointers = fc.array(
      fc.record({ file, title: fc.constantFrom('T', 'Other'), hook: fc.constantFrom('h', 'more words') }),
      { maxLength: 5 },
    )
    fc.assert(
      fc.property(index, pointers, (content, list) => {
        expect(withPointers(content, list)).toBe(list.reduce(withPointer, content))
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('an index that says it already', () => {
  it('stays as it is, however the name is spelled', () => {
    const title = fc.constantFrom('T', 'Other', 'Größe')
    const hook = fc.constantFrom('h', 'a 100% of it', 'C:\\temp', 'mehr — Wörter')
    const target = fc.constantFrom(
      'a.md',
      'aa.md',
      './a.md',
      '<a.md>',
      'a%2Emd',
      'a\\.md',
      'b%20a.md',
      '<b a.md>',
      'x/a.md',
    )
    const line = fc.oneof(
      fc.tuple(title, target, hook).map(([text, to, more]) => `- [${text}](${to}) — ${more}`),
      fc.constantFrom('# Heading', '', 'a.md in prose', 'half of it: 50%', '\uFEFF* [T](a.md): h', '- [T](a.md) — h\r'),
    )
    const index = fc
      .tuple(fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\r\n'), fc.constantFrom('', '\n', '\r\n', '\n\n'))
      .map(([lines, end, last]) => lines.join(end) + last)
    const pointer = fc.record({ file: fc.constantFrom('a.md', 'aa.md', 'b a.md', 'x/a.md', 'c.md'), title, hook })
    fc.assert(
      fc.property(index, pointer, (content, wanted) => {
        const after = withPointer(content, wanted)
        expect(withPointer(after, wanted)).toBe(after)
      }),
      { numRuns: 3_000 },
    )
  })
})

const known = ['a.md', 'b.md', 'team/c.md', 'odd: name.md']
const kinds = (content: string, before?: string) =>
  indexProblems(content, known, before).map(({ kind, line }) => `${line} ${kind}`)

describe('an index to be written', () => {
  it('may hold pointers, headings and blank lines', () => {
    const content =
      '\uFEFF# Memory\r\n\r\n## Work\n- [A](a.md) — x\n  * [B](./b.md)\n\t\n###\n- [C](team/c.md)\n- [O](<odd: name.md>)'
    expect(indexProblems(content, known)).toEqual([])
    expect(indexProblems('', known)).toEqual([])
  })

  it('is told every line that is wrong, and why', () => {
    const content = [
      '# Memory',
      'We deploy on Fridays.',
      '- [A](a.md) — x',
      '- uses pnpm',
      '- [A again](./a.md)',
      '- [Later](later.md) — not written yet, which is fine',
      `- [B](b.md) — ${'content '.repeat(50)}`,
    ].join('\n')
    expect(indexProblems(content, known)).toEqual([
      { kind: 'prose', line: 2, text: 'line 2 is neither a pointer nor a heading; move it into a topic file' },
      { kind: 'prose', line: 4, text: 'line 4 is neither a pointer nor a heading; move it into a topic file' },
      { kind: 'duplicate', line: 5, text: 'line 5 points to a.md again, after line 3' },
      {
        kind: 'long',
        line: 7,
        text: 'line 7 is content, not a hook: keep it near 150 characters and move the rest into b.md',
      },
    ])
  })

  it.each([
    '/etc/passwd',
    '../x.md',
    'team/../../x.md',
    '~/x.md',
    'C:\\x.md',
    '\\\\host\\x.md',
    '..%2fx.md',
    '%2e%2e/x.md',
    'https://e.com/x.md',
    'file:///x.md',
    'mailto:a@b',
    '%00.md',
  ])('may not point to %s', (target) => {
    expect(kinds(`- [X](${target}) — x`)).toEqual(['1 outside'])
  })

  it.each([
    ['---\nname: x\n---\n- [A](a.md)\n', ['1 front-matter']],
    ['---\r\nname: x\r\n', ['1 front-matter', '2 prose']],
    ['# A\n---\n', ['2 prose']],
    ['- [A](a.md) \0\n', ['1 nul']],
    [`# ${'long heading '.repeat(20)}`, ['1 prose']],
    ['#hashtag', ['1 prose']],
    ['<!-- a note -->', ['1 prose']],
    ['```\n- [A](a.md)\n```', ['1 prose', '3 prose']],
  ])('%j is refused', (content, expected) => {
    expect(kinds(content)).toEqual(expected)
  })

  it('does not answer for what stood there before', () => {
    const before = '---\nx: 1\n---\nold prose\n- [Gone](gone.md)\n- [A](a.md)\n- [A](a.md)\n'
    expect(kinds(`${before}- [B](b.md)\n`, before)).toEqual([])
    expect(kinds(`new prose\n${before.slice(13)}old prose\n- [A](a.md)\n`, before)).toEqual([
      '1 prose',
      '6 prose',
      '7 duplicate',
    ])
  })
})

/** The rule in other words: whole lines are taken while both limits hold; of a first line that is too long, characters. */
function expectedPart(text: string): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  let part = ''
  let bytes = 0
  for (const line of lines.slice(0, 200)) {
    bytes += new TextEncoder().encode(line).length
    if (bytes > 25_000) break
    part += line
  }
  if (part !== '' || lines.length === 0) return part
  bytes = 0
  for (const character of text) {
    bytes += new TextEncoder().encode(character).length
    if (bytes > 25_000) break
    part += character
  }
  return part
}

function expectLoaded(text: string): void {
  const part = expectedPart(text)
  const { warning, ...loaded } = loadIndex(Buffer.from(text))
  expect(loaded).toEqual({
    content: part === text ? text : `${part}${part.endsWith('\n') ? '' : '\n'}\n${warning}\n`,
    lines: (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).length,
    bytes: new TextEncoder().encode(text).length,
    truncated: part !== text,
  })
  expect(warning === undefined).toBe(part === text)
  if (warning !== undefined) expect(figuresIn(warning)).toEqual(figuresOf(text, part))
}

type Figures = { lines?: string[]; bytes?: string[]; shown: string[] }

/** What the warning says: which limits were hit and by how much, and what is left. */
function figuresIn(warning: string): Figures {
  const lines = /it has ([\d,]+) lines, ([\d,]+) more than the 200 /.exec(warning)?.slice(1)
  const bytes = /takes? ([\d,]+) bytes, ([\d,]+) more than the 25,000 /.exec(warning)?.slice(1)
  const shown = /Above: (the start of line 1|lines 1–\d+), ([\d,]+) of ([\d,]+) bytes/.exec(warning)?.slice(1) ?? []
  return { ...(lines && { lines }), ...(bytes && { bytes }), shown }
}

function figuresOf(text: string, part: string): Figures {
  const count = (number: number) => number.toLocaleString('en-US')
  const size = (words: string) => new TextEncoder().encode(words).length
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const within = size(lines.slice(0, 200).join(''))
  const kept = part.match(/[^\n]*\n|[^\n]+$/g)?.length ?? 0
  const whole = lines.slice(0, kept).join('') === part
  return {
    ...(lines.length > 200 && { lines: [count(lines.length), count(lines.length - 200)] }),
    ...(within > 25_000 && { bytes: [count(within), count(within - 25_000)] }),
    shown: [whole ? `lines 1–${kept}` : 'the start of line 1', count(size(part)), count(size(text))],
  }
}

const character = fc.constantFrom('a', ' ', 'é', '—', '日', '👩‍💻', '\u2028', '\uFEFF', '\r', '#')
const lineEnding = fc.constantFrom('\n', '\n', '\r\n')
const manyLines = fc
  .array(fc.tuple(fc.string({ unit: character, maxLength: 8 }), fc.nat(60), lineEnding), {
    minLength: 0,
    maxLength: 230,
  })
  .map((lines) => lines.map(([text, times, end]) => text.repeat(times) + end).join(''))
const nearLimits = fc
  .tuple(
    fc.integer({ min: 1, max: 203 }),
    fc.integer({ min: 24_990, max: 25_010 }),
    character,
    lineEnding,
    fc.boolean(),
  )
  .map(([lines, bytes, fill, end, closed]) => {
    const start = `x${end}`.repeat(lines - 1)
    const rest = bytes - Buffer.byteLength(start) - (closed ? end.length : 0)
    const filled = fill.repeat(Math.floor(rest / Buffer.byteLength(fill)))
    return `${start}${filled}${'y'.repeat(rest - Buffer.byteLength(filled))}${closed ? end : ''}`
  })

/** All of Unicode, in lines of any length, so often that one limit or both are passed. */
const anyUnicode = fc
  .tuple(
    fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 40 }), lineEnding), { minLength: 1, maxLength: 20 }),
    fc.nat(60),
  )
  .chain(([lines, times]) =>
    fc
      .tuple(
        fc.constant(
          lines
            .map(([text, end]) => text + end)
            .join('')
            .repeat(times),
        ),
        fc.string({ unit: 'binary' }),
      )
      .map(([start, last]) => start + last),
  )
const oneLine = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), fc.constantFrom('', '\n', '\r\n', '\nmore'))
  .map(([unit, end]) => {
    const text = unit.replaceAll('\n', ' ')
    return text.repeat(Math.ceil(1_048_576 / Buffer.byteLength(text))) + end
  })

describe('loading the index', () => {
  it('takes whole lines up to both limits, whatever they hold', () => {
    fc.assert(fc.property(fc.oneof(manyLines, nearLimits), expectLoaded), { numRuns: 400 })
    fc.assert(fc.property(anyUnicode, expectLoaded), { numRuns: 200 })
  })

  it('takes the start of a single line of a megabyte, whatever it holds', () => {
    fc.assert(fc.property(oneLine, expectLoaded), { numRuns: 10 })
  })

  it.each([
    ['201 lines without a final newline', `${'x\n'.repeat(200)}x`],
    ['201 lines with CRLF', 'x\r\n'.repeat(201)],
    ['a 201st line that is only a CR', `${'x\n'.repeat(200)}\r`],
    ['25,001 bytes on one line', 'x'.repeat(25_001)],
    ['25,000 bytes and a newline', `${'x'.repeat(25_000)}\n`],
    ['a CRLF across byte 25,000', `a\n${'x'.repeat(24_997)}\r\n`],
    ['a character across byte 25,000', `${'x'.repeat(24_999)}é`],
    ['a byte order mark and 25,000 bytes', `\uFEFF${'x'.repeat(25_000)}`],
    ['200 lines of 25,001 bytes', `${`${'x'.repeat(124)}\n`.repeat(199)}${'x'.repeat(126)}`],
  ])('cuts %s, and says so', (_what, text) => {
    expectLoaded(text)
    expect(loadIndex(text).truncated).toBe(true)
  })

  it('replaces what is no UTF-8, and never throws', () => {
    expect(loadIndex(Buffer.from([0x2d, 0x20, 0xff, 0xe2, 0x82, 0x0a]))).toEqual({
      content: '- \uFFFD\uFFFD\n',
      lines: 1,
      bytes: 9,
      truncated: false,
    })
    expect(loadIndex('a\uD800b')).toEqual({ content: 'a\uFFFDb', lines: 1, bytes: 5, truncated: false })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(400), (bytes, times) => {
        const file = Buffer.concat(Array.from({ length: times }, () => Buffer.from(bytes)))
        const { content, warning = '' } = loadIndex(file)
        expect(Buffer.byteLength(content)).toBeLessThanOrEqual(25_000 + Buffer.byteLength(warning) + 3)
      }),
    )
  })

  it.each([
    ['an empty file', '', 0, 0],
    ['200 lines', 'x\n'.repeat(200), 200, 400],
    ['200 lines without a final newline', `${'x\n'.repeat(199)}x`, 200, 399],
    ['200 lines with CRLF', 'x\r\n'.repeat(200), 200, 600],
    ['25,000 bytes on one line', 'x'.repeat(25_000), 1, 25_000],
    ['25,000 bytes of three-byte characters', `${'日'.repeat(8_333)}\n`, 1, 25_000],
    ['200 lines that are 25,000 bytes', `${'x'.repeat(124)}\n`.repeat(200), 200, 25_000],
  ])('does not cut %s', (_what, content, lines, bytes) => {
    expect(loadIndex(content)).toEqual({ content, lines, bytes, truncated: false })
  })

  it('says how many lines are missing', () => {
    const file = 'x\n'.repeat(201)
    const warning =
      '> Warning: MEMORY.md is not shown in full: it has 201 lines, 1 more than the 200 that are loaded. Above: lines 1–200, 400 of 402 bytes. To see all of it again, keep every entry to one short line, move detail into topic files, and remove pointers that no longer matter.'
    expect(loadIndex(file)).toEqual({
      content: `${'x\n'.repeat(200)}\n${warning}\n`,
      lines: 201,
      bytes: 402,
      truncated: true,
      warning,
    })
  })

  it('says how many bytes are too many', () => {
    const { content, warning } = loadIndex(`first\n${'x'.repeat(24_994)}\n`)
    expect(content).toBe(`first\n\n${warning}\n`)
    expect(warning).toContain(
      'it takes 25,001 bytes, 1 more than the 25,000 allowed. Above: lines 1–1, 6 of 25,001 bytes',
    )
  })

  it('keeps a line that ends with byte 25,000 when more follows', () => {
    const line = `${'x'.repeat(24_999)}\n`
    const { content, warning } = loadIndex(`${line}y`)
    expect(content).toBe(`${line}\n${warning}\n`)
    expect(warning).toContain('Above: lines 1–1, 25,000 of 25,001 bytes')
  })

  it('names both limits when both are hit', () => {
    const { lines, bytes, warning } = loadIndex(`${'x'.repeat(149)}\n`.repeat(300))
    expect({ lines, bytes }).toEqual({ lines: 300, bytes: 45_000 })
    expect(warning).toContain(
      'it has 300 lines, 100 more than the 200 that are loaded; the first 200 of them take 30,000 bytes, 5,000 more than the 25,000 allowed. Above: lines 1–166, 24,900 of 45,000 bytes',
    )
  })

  it('shows the start of a file that is one line of a megabyte, whole characters only', () => {
    const { content, warning, ...rest } = loadIndex('日'.repeat(349_525))
    expect(content).toBe(`${'日'.repeat(8_333)}\n\n${warning}\n`)
    expect(rest).toEqual({ lines: 1, bytes: 1_048_575, truncated: true })
    expect(warning).toContain('Above: the start of line 1, 24,999 of 1,048,575 bytes')
  })
})

const topic = (name: string) => `---\nname: ${name}\ndescription: What to mind\ntype: feedback\n---\n\nMind it.\n`

const line = fc.oneof(
  fc.constantFrom('- [Old](old.md) — said before', '# Heading', '', 'plain words', '- [Größe](größe.md) – 雪 😀'),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll(/[\p{Cs}\0]/gu, '')),
)
const index = fc
  .tuple(fc.constantFrom('', '\uFEFF'), fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([mark, lines, end, closed]) => `${mark}${lines.join(end)}${closed ? end : ''}`)

describe('the bytes of an index that is kept', () => {
  it('are those of its text, whatever stands in it', () => {
    const dir = join(makeHome().dir, 'memory')
    mkdirSync(dir)
    const folder = openFolder(dir)
    fc.assert(
      fc.property(index, fc.constantFrom('New one', 'Größe', '新しい'), (before, name) => {
        writeFileSync(join(dir, 'MEMORY.md'), before)
        for (const { text, bytes } of upkeep(folder, [{ file: 'feedback_new.md', content: topic(name) }])) {
          expect(bytes.equals(Buffer.from(text))).toBe(true)
          expect(text.endsWith(before) || text.includes('(feedback_new.md)')).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
    folder.close()
  })
})
