import { describe, expect, it } from 'vitest'
import { wordsOf } from '../../daemon/recall/words.ts'

const termsOf = (text: string) => wordsOf(text, (word) => word).map(({ term }) => term)

describe('the terms of a text', () => {
  it.each([
    ["don't use src/retryBudget.ts: v1.2..3", 'don use src retry budget ts retrybudgetts srcretrybudgetts v1 2 v12 3'],
    ['-a- a--b A_b', 'a a b a b ab'],
  ])('of %j are words, parts, and what they are parts of', (text, terms) => {
    expect(termsOf(text)).toEqual(terms.split(' '))
  })

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
