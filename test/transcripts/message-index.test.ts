import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { demandOfLiteral, demandOfWord, tokenLook, tokensOf } from '../../daemon/transcripts/message-index.ts'

describe('the tokens of a text', () => {
  it.each([
    ['Run npm_test --all', ['run', 'npm', 'test', 'all']],
    ['部署脚本 v2', ['部署', '署脚', '脚本', 'v2']],
    ['用 x', ['用', 'x']],
    ['deploy脚本', ['deploy', '脚本']],
    ['ＦＵＬＬ ﬁne Straße É e\u0301 ΟΔΟΣ', ['full', 'fine', 'strasse', 'e', 'e', 'οδοσ']],
    ['가나 हिन्दी', ['가나', 'हिन्दी']],
    ['a\u0000b 👍 …', ['a', 'b']],
  ])('%s', (text, tokens) => {
    expect(tokensOf(text)).toEqual(tokens)
  })

  it('are pieces that overlap where a run is longer than any word', () => {
    const run = Array.from({ length: 130 }, (_, n) => String.fromCharCode(97 + (n % 26))).join('')
    expect(tokensOf(run)).toEqual([run.slice(0, 64), run.slice(32, 96), run.slice(64, 128), run.slice(96)])
    expect(tokensOf(`é${run}`)[0]).toBe(`e${run.slice(0, 63)}`)
  })
})

describe('a look for a token', () => {
  const parts = ['a', 'B', 'ab', '1', ' ', '_', '.', 'é', 'e\u0301', 'İ', 'i', '\u212a', 'k', '脚', '本', 'ﬁ', 'fi']
  const runs = ['x'.repeat(64), 'x'.repeat(65), 'xy'.repeat(50)]
  const part = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...parts) }, fc.constantFrom(...runs))
  const text = fc.array(part, { maxLength: 12 }).map((all) => all.join(''))

  it('finds those of the text, and no other', () => {
    fc.assert(
      fc.property(text, text, (text, other) => {
        const tokens = tokensOf(text)
        const has = tokenLook(text)
        for (const token of [...tokens, ...tokensOf(other), ...tokens.map((own) => own.slice(1)).filter(Boolean)]) {
          expect(has(token, 'whole')).toBe(tokens.includes(token))
          expect(has(token, 'beginning')).toBe(tokens.some((own) => own.startsWith(token)))
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('what a text with a literal must have', () => {
  it.each([
    ['refreshToken', { phrase: [], lastIs: 'whole', within: 'refreshtoken' }],
    ['.refreshToken(', { phrase: ['refreshtoken'], lastIs: 'whole' }],
    ['foo.bar(ba', { phrase: ['bar', 'ba'], lastIs: 'beginning', within: 'foo' }],
    ['脚本', { phrase: ['脚本'], lastIs: 'whole' }],
    ['脚', { phrase: [], lastIs: 'whole', within: '脚' }],
    ['：脚', { phrase: ['脚'], lastIs: 'beginning' }],
    ['=> {', { phrase: [], lastIs: 'whole' }],
    ['a\ud800', { phrase: [], lastIs: 'whole' }],
    [`${'x'.repeat(50)} y`, { phrase: ['y'], lastIs: 'beginning', within: 'x'.repeat(32) }],
  ])('%s', (literal, demand) => {
    expect(demandOfLiteral(literal)).toEqual(demand)
  })
})

describe('a word', () => {
  it('is whole, and one character of a script without spaces the beginning of a pair', () => {
    expect(demandOfWord('snake_case')).toEqual({ phrase: ['snake', 'case'], lastIs: 'whole' })
    expect(demandOfWord('用')).toEqual({ phrase: ['用'], lastIs: 'beginning' })
    expect(demandOfWord('=>')).toEqual({ phrase: [], lastIs: 'whole' })
  })
})
