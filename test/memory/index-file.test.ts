import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  parsePointers,
  saysAlready,
  withoutPointer,
  withPointer,
  withPointers,
} from '../../daemon/memory/index-file.ts'

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
  it('is told from its bytes exactly where a pointer would change nothing', () => {
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
        expect(saysAlready(Buffer.from(content), wanted)).toBe(after === content)
        expect(saysAlready(Buffer.from(after), wanted)).toBe(true)
      }),
      { numRuns: 3_000 },
    )
  })
})
