import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escaped } from '../../daemon/platform/json.ts'
import { beyondOf, framed, type Printed, printed, printedAnswer, printedOne } from '../../daemon/recall/surface.ts'
import { RecallAnswer } from '../../schema/recall.ts'

const text = fc.string({ unit: 'grapheme' })
const part = fc.string({ unit: 'grapheme', minLength: 1 })
const memory = fc.record({
  file: text,
  path: text,
  type: fc.option(fc.constantFrom('user' as const, 'project' as const), { nil: undefined }),
  ageDays: fc.nat(),
  trust: fc.option(fc.constantFrom('tool' as const, 'untrusted' as const), { nil: undefined }),
  truncated: fc.boolean(),
  content: text,
  score: fc.double({ noNaN: true, noDefaultInfinity: true }),
})

describe('an answer put together from parts', () => {
  it('is letter for letter what its schema makes of it, and knows its bytes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(memory, part), { minLength: 1, maxLength: 5 }),
        fc.constantFrom('local' as const, 'model' as const),
        fc.nat(),
        (found, mode, sessionBytes) => {
          const parts = found.map(([, part]) => part)
          const whole = framed(parts.join(''))
          const memories = found.map(([each]) => each)
          const answer = { mode, memories, text: whole, bytes: Buffer.byteLength(whole), sessionBytes }
          const same = memories.map(({ score: _score, ...rest }) => printed(rest))
          const escapedParts = parts.map(escaped)
          const json = printedAnswer(answer, {
            memories: memories.map((each, n) => printedOne(same[n] as Printed, each.score)).join(','),
            parts: escapedParts.join(''),
            beyond: [...same.map(({ beyond }) => beyond), ...escapedParts.map(beyondOf)].reduce((a, b) => a + b),
          })
          const text = JSON.stringify(RecallAnswer.parse(answer))
          expect(json).toEqual({ text, bytes: Buffer.byteLength(text) })
        },
      ),
    )
  })
})
