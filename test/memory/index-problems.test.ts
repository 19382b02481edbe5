import { describe, expect, it } from 'vitest'
import { indexProblems } from '../../daemon/memory/index-problems.ts'

const known = ['a.md', 'b.md', 'team/c.md', 'odd: name.md']
const kinds = (content: string, options = {}) =>
  indexProblems(content, known, options).map(({ kind, line }) => `${line} ${kind}`)

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
      '- [Gone](gone.md) — not written yet',
      `- [B](b.md) — ${'content '.repeat(50)}`,
    ].join('\n')
    expect(indexProblems(content, known)).toEqual([
      { kind: 'prose', line: 2, text: 'line 2 is neither a pointer nor a heading; move it into a topic file' },
      { kind: 'prose', line: 4, text: 'line 4 is neither a pointer nor a heading; move it into a topic file' },
      { kind: 'duplicate', line: 5, text: 'line 5 points to a.md again, after line 3' },
      { kind: 'dangling', line: 6, text: 'line 6 points to gone.md, which does not exist; write that file first' },
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
    expect(kinds(`${before}- [B](b.md)\n`, { before })).toEqual([])
    expect(kinds(`new prose\n${before.slice(13)}old prose\n- [A](a.md)\n`, { before })).toEqual([
      '1 prose',
      '6 prose',
      '7 duplicate',
    ])
  })
})
