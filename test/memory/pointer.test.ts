import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { oneLine, pointerLine, readPointer } from '../../daemon/memory/pointer.ts'

describe('a pointer line', () => {
  it('is what Claude Code writes', () => {
    expect(
      pointerLine({ file: 'feedback_testing.md', title: 'Testing', hook: 'no mocks: they hid a broken migration' }),
    ).toBe('- [Testing](feedback_testing.md) — no mocks: they hid a broken migration')
  })

  it.each([
    [{ file: 'a.md', title: '', hook: '' }, '- [a](a.md)'],
    [
      { file: 'a.md', title: 'x\n- [y](z.md)', hook: 'one\r\ntwo\u2028three' },
      '- [x - \\[y\\](z.md)](a.md) — one two three',
    ],
    [{ file: 'my file (1).md', title: 'T', hook: 'h' }, '- [T](<my file (1).md>) — h'],
    [
      { file: '100%#a<b>\\c.md', title: 'back\\slash', hook: '— h' },
      '- [back\\\\slash](<100%25%23a\\<b\\>\\\\c.md>) — — h',
    ],
    [{ file: 'team/日本.md', title: 'T', hook: '' }, '- [T](team/日本.md)'],
  ])('%j is printed so that it reads back', (pointer, line) => {
    expect(pointerLine(pointer)).toBe(line)
    expect(readPointer(line)?.file).toBe(pointer.file)
  })

  it('is cut at a word near 150 characters', () => {
    const line = pointerLine({ file: 'user_role.md', title: 'Role', hook: 'several words in a row, '.repeat(20) })
    expect(line).toBe(
      '- [Role](user_role.md) — several words in a row, several words in a row, several words in a row, several words in a row, several words in a row…',
    )
    expect(line.length).toBeLessThanOrEqual(150)
  })

  it('drops the hook when the name of the file leaves no room', () => {
    const file = `${'n'.repeat(150)}.md`
    expect(pointerLine({ file, title: 'T', hook: 'a hook that does not fit' })).toBe(`- [T](${file})`)
  })

  it('reads back as the same file, title and hook, whatever they hold', () => {
    const awkward = fc.constantFrom(...'[]()<>\\%#"\'`!:-–— \t\r\n\u0085\u2028a2'.split(''))
    const words = fc.oneof(fc.string({ unit: awkward, maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 40 }))
    fc.assert(
      fc.property(words, words, words, (name, title, hook) => {
        const file = `${name.replaceAll('/', '')}.md`
        const line = pointerLine({ file, title, hook })
        expect(line).not.toMatch(/[\n\r\u2028\u2029]/)
        const read = readPointer(line)
        expect(read).toMatchObject({ file, hook: oneLine(hook) })
        if (oneLine(title) !== '') expect(read?.title).toBe(oneLine(title))
      }),
      { numRuns: 500 },
    )
  })

  it('stays within its length for any title and hook', () => {
    const long = fc.string({ unit: fc.constantFrom('[', '\\', 'word ', '日', '👩', ', '), maxLength: 300 })
    fc.assert(
      fc.property(long, long, (title, hook) => {
        const line = pointerLine({ file: 'feedback_testing.md', title, hook })
        expect([...line].length).toBeLessThanOrEqual(150)
        expect(line).not.toMatch(/\p{Cs}/u)
      }),
    )
  })
})
