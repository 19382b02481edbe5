import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutCode } from '../../daemon/instructions/code.ts'
import { findMentions } from '../../daemon/instructions/mentions.ts'
import { cpuMs } from './tree.ts'

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
