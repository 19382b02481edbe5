import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PIECE_CHARS, tokensOf } from '../../daemon/transcripts/message-index.ts'
import { createSeenTerms, SEEN_TERMS_BYTES } from '../../daemon/transcripts/seen-terms.ts'

const plainText = fc.stringMatching(/^[ -~\n\t]{0,300}$/)

describe('terms that were not seen', () => {
  it('are those that the tokens of a plain text are made of, each once', () => {
    fc.assert(
      fc.property(plainText, (text) => {
        const fresh: string[] = []
        const seen = createSeenTerms({ longest: PIECE_CHARS, memory: new ArrayBuffer(SEEN_TERMS_BYTES) })
        if (seen.ofPlain(text, fresh) === 'plain') expect(fresh).toEqual([...new Set(tokensOf(text))])
        else expect(text).toMatch(/[A-Za-z0-9]{65}/)
        const again: string[] = []
        seen.ofPlain(text, again)
        expect(again).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it.each(['é', '中', '😀'])('are told of no text with other signs, however long it is: %s', (other) => {
    const seen = createSeenTerms({ longest: PIECE_CHARS, memory: new ArrayBuffer(SEEN_TERMS_BYTES) })
    for (let length = 65_528; length < 65_544; length++)
      for (let before = 0; before < 4; before++)
        expect(seen.ofPlain(`${'.'.repeat(before)}${'word'.padStart(length - before, other)}`, [])).toBe('other')
  })

  it('are told of no other text, but one by one', () => {
    const seen = createSeenTerms({ longest: PIECE_CHARS, memory: new ArrayBuffer(SEEN_TERMS_BYTES) })
    const fresh: string[] = []
    for (const text of ['Straße', 'a\0b', 'x'.repeat(65)]) expect(seen.ofPlain(text, fresh)).toBe('other')
    fresh.length = 0
    for (const term of ['strasse', 'straße', 'strasse']) seen.add(term, fresh)
    expect(fresh).toEqual(['strasse', 'straße'])
    // The same term, whichever way it comes.
    expect([seen.ofPlain('Strasse here', fresh), fresh]).toEqual(['plain', ['strasse', 'straße', 'here']])
  })

  it('are fresh once more when too many were met, and when all is forgotten', () => {
    const seen = createSeenTerms({ longest: PIECE_CHARS, memory: new ArrayBuffer(SEEN_TERMS_BYTES) })
    const fresh: string[] = []
    for (let n = 0; n < 300_000; n++) seen.add(`t${n}`, fresh)
    expect(fresh.length).toBe(300_000)
    fresh.length = 0
    seen.add('t1', fresh)
    seen.add('t299999', fresh)
    expect(fresh).toEqual(['t1'])
    seen.forget()
    seen.add('t299999', fresh)
    expect(fresh).toEqual(['t1', 't299999'])
  })

  it('are not those that come again before so many others have come that some must go', () => {
    const seen = createSeenTerms({ longest: PIECE_CHARS, memory: new ArrayBuffer(SEEN_TERMS_BYTES) })
    const fresh: string[] = []
    for (let n = 0; n < 1_000_000; n++) {
      seen.add(`t${n}`, fresh)
      if (n % 40_000 === 0) seen.add('again', fresh)
    }
    expect(fresh.filter((term) => term === 'again')).toEqual(['again'])
    expect(fresh.length).toBe(1_000_001)
  })

  it('are fresh once more when more of them came again than can be kept', () => {
    const seen = createSeenTerms({ longest: PIECE_CHARS, memory: new ArrayBuffer(SEEN_TERMS_BYTES) })
    const fresh: string[] = []
    for (let time = 0; time < 2; time++) for (let n = 0; n < 100_000; n++) seen.add(`t${n}`, fresh)
    expect(fresh.length).toBe(100_000)
    for (let n = 0; n < 32_000; n++) seen.add(`u${n}`, fresh)
    fresh.length = 0
    seen.add('t1', fresh)
    expect(fresh).toEqual(['t1'])
  })
})
