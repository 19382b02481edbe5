import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseQuery } from '../../daemon/sessions/query.ts'

const NOW = Date.UTC(2026, 2, 10, 12)
const DAY = 86_400_000

describe('a question', () => {
  it.each([
    ['token refresh', { words: ['token', 'refresh'], literals: [] }],
    ['"say ""hi"" \\d" x', { words: ['x'], literals: ['say "hi" \\d'] }],
    ['"not closed', { words: [], literals: ['not closed'] }],
    ['"a""', { words: [], literals: ['a"'] }],
    [
      'x role:tool since:7d session:abc',
      { words: ['x'], literals: [], role: 'tool', sinceMs: NOW - 7 * DAY, session: 'abc' },
    ],
    ['x session:"a b" since:2026-03-01', { words: ['x'], literals: [], session: 'a b', sinceMs: Date.UTC(2026, 2, 1) }],
    ['x since:2026-03-01T10:00Z', { words: ['x'], literals: [], sinceMs: Date.UTC(2026, 2, 1, 10) }],
    ['"role:tool" myrole:tool http://x', { words: ['myrole:tool', 'http://x'], literals: ['role:tool'] }],
  ])('%s', (text, query) => {
    expect(parseQuery(text, NOW)).toEqual(query)
  })

  it.each([
    ['', 'there is nothing to search for'],
    ['=> ""', 'there is nothing to search for'],
    ['role:tool', 'there is nothing to search for'],
    ['x role:assistant', 'role:assistant is none there is'],
    ['x role:hunter2', 'role: is none there is'],
    ['x role:', 'role: is none there is'],
    ['x since:yesterday', 'since: is no time'],
    ['x since:2026-99-99', 'since: is no time'],
    ['x since:999999d', 'since: is no time'],
    ['x session:', 'session: names no session'],
    ['x role:tool role:tool', 'role: is given twice'],
  ])('is refused without being repeated: %s', (text, refused) => {
    expect(parseQuery(text, NOW)).toEqual({ refused, hint: expect.any(String) })
  })

  it('may be anything', () => {
    const part = fc.constantFrom('"', '""', 'role:', 'since:', 'session:', 'tool', '7d', ' ', '\\', '\u0000', '部')
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(hostile, (text) => {
        const query = parseQuery(text, NOW)
        if ('refused' in query) return
        expect(query.words.length + query.literals.length).toBeGreaterThan(0)
        if (query.sinceMs !== undefined) expect(query.sinceMs).toBeGreaterThan(Number.NEGATIVE_INFINITY)
      }),
    )
  })
})
