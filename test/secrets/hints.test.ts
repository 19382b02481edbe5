import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHints, DASHED_RUN, LONG_RUN } from '../../daemon/secrets/hints.ts'

const lists = [
  [1, ['@', 'pw', '^sk-', 'token', 'tokenize']],
  [2, [' -p', '9:', 'key', '-key', 'пароль', '密码', '$2']],
  [4, ['^key', 'x.y_z', 'pw']],
] as const
const TRACED = 3

/** Piece by piece and place by place. */
function plainly(text: string) {
  const folded = [...text.split('')].map((one) => (/\s/.test(one) ? ' ' : one.toLowerCase())).join('')
  const found = lists.flatMap(([bit, pieces]) =>
    pieces.flatMap((piece) => {
      const letters = piece.replace('^', '')
      const places = Array.from({ length: text.length }, (_, at) => at).filter((at) => folded.startsWith(letters, at))
      const free = places.filter((at) => !piece.startsWith('^') || !/[A-Za-z0-9]/.test(text[at - 1] ?? ' '))
      return free.map((at) => ({ bit, at }))
    }),
  )
  const runs = (/[A-Za-z0-9]{32}/.test(text) ? LONG_RUN : 0) | (/[A-Za-z0-9_-]{24}/.test(text) ? DASHED_RUN : 0)
  return {
    bits: found.reduce((all, { bit }) => all | bit, runs),
    places: found.filter(({ bit }) => (bit & TRACED) !== 0).map(({ bit, at }) => `${at} ${bit}`),
  }
}

const pieces = lists.flatMap(([, all]) => all.map((piece) => piece.replace('^', '')))
const near = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...pieces,
        ...pieces.map((piece) => piece.toUpperCase()),
        ...pieces.map((piece) => piece.slice(1)),
      ),
      fc.constantFrom(' ', '\n', '\u2003', 'a', '7', '-', '.', 'é', '字', '\0', 'x'.repeat(23), 'x'.repeat(31)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

it('finds every piece where it begins, in texts of bytes and of characters, short and long', () => {
  const hints = createHints(lists, TRACED)
  fc.assert(
    fc.property(near, fc.constantFrom('', ' ', 'é ', '. '.repeat(4)), (text, before) => {
      const whole = before.length > 2 ? before + text : text + before
      const { bits, places } = hints(whole)
      const expected = plainly(whole)
      expect(bits).toBe(expected.bits)
      expect(places.map(({ at, bit }) => `${at} ${bit}`).sort()).toEqual(expected.places.sort())
    }),
    { numRuns: 500 },
  )
})

it('knows nothing of the text before', () => {
  const hints = createHints(lists, TRACED)
  expect(hints('my token').bits).toBe(1)
  // Shorter: behind it stand the letters of the one before.
  expect(hints('my tok').bits).toBe(0)
  expect(hints('é token').bits).toBe(1)
  expect(hints('é tok').bits).toBe(0)
})

it.each(['é', '中', '😀'])('looks at all of a text that has more bytes than room: %s', (other) => {
  const hints = createHints(lists, TRACED)
  // What does not fit is cut between characters: the bytes that do may be as many as the text has characters.
  for (let length = 65_528; length < 65_544; length++)
    for (let before = 0; before < 4; before++) {
      const text = `${'.'.repeat(before)}${' my token'.padStart(length - before, other)}`
      expect([text.length, hints(text).bits]).toEqual([length, 1])
    }
})

it('knows a long run wherever it stands, and none that is shorter by one', () => {
  const hints = createHints(lists, TRACED)
  const dashed = (chars: number) => 'a-_7'.repeat(8).slice(0, chars)
  for (const before of ['', '.', 'a b ', `${dashed(23)} `])
    for (const after of ['', '.', ' b', ` ${dashed(23)}`]) {
      const bitsOf = (run: string) => hints(`${before}${run}${after}`).bits
      expect(
        [dashed(23), dashed(24), 'x'.repeat(31), 'x'.repeat(32), `${dashed(8)}${'x'.repeat(32)}`].map(bitsOf),
      ).toEqual([0, DASHED_RUN, DASHED_RUN, DASHED_RUN | LONG_RUN, DASHED_RUN | LONG_RUN])
    }
})
