import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chunkEnd, chunkStart, isPlainWord, wordsOf } from '../../daemon/recall/words.ts'

const CHUNK = /[A-Za-z0-9_]+(?:[.\-/:'@#][A-Za-z0-9_]+)*/g
const PLAIN_WORD = /^[A-Z]?[a-z0-9]+$/

function chunksOf(text: string): { chunk: string; plain: boolean }[] {
  const found = []
  for (let at = chunkStart(text, 0); at < text.length; ) {
    const end = chunkEnd(text, at)
    found.push({ chunk: text.slice(at, end), plain: isPlainWord(text, at, end) })
    at = chunkStart(text, end)
  }
  return found
}

const told = (text: string) => [...text.matchAll(CHUNK)].map(([chunk]) => ({ chunk, plain: PLAIN_WORD.test(chunk) }))

describe('chunks of ASCII', () => {
  it.each(['', ' ', "don't use src/retryBudget.ts: v1.2..3", 'A', 'A_b', '-a-', 'a--b', 'Z9', '\u00a0one\u2003two'])(
    'are those of the pattern in %j',
    (text) => expect(chunksOf(text)).toEqual(told(text)),
  )

  it('are those of the pattern in any text', () => {
    const sign = fc.constantFrom(..."aZ09_.-/:'@# \n!\u00a0")
    fc.assert(
      fc.property(fc.string({ unit: sign, maxLength: 40 }), (text) => {
        expect(chunksOf(text)).toEqual(told(text))
      }),
    )
  })
})

const termsOf = (text: string) => wordsOf(text, (word) => word).map(({ term }) => term)

describe('the terms of a text', () => {
  it.each([
    ['a no-break space', '\u00a0'],
    ['a thin space', '\u2009'],
    ['a narrow no-break space', '\u202f'],
    ['an ideographic space', '\u3000'],
  ])('are the same with %s in it', (_, space) => {
    const text = 'Frozen since March 5, 2026. Ask Priya.'
    expect(termsOf(text)).toContain('@2026-03-05')
    expect(wordsOf(text.replaceAll(' ', space), (word) => word)).toEqual(wordsOf(text, (word) => word))
  })

  it.each(['\t', '\n', '\v', '\f', '\r'])('are parted by %j', (space) => {
    expect(termsOf(`one${space}two`)).toEqual(['one', 'two'])
  })
})
