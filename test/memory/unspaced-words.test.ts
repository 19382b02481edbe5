import { describe, expect, it } from 'vitest'
import { indexable, wordsQuery } from '../../daemon/memory/unspaced-words.ts'

describe('text for the index', () => {
  it('is the text, with scripts that have no spaces as pairs of characters', () => {
    expect(indexable('run npm test')).toBe('run npm test')
    expect(indexable('部署脚本 v2')).toBe(' 部署 署脚 脚本  v2')
    expect(indexable('用')).toBe(' 用 ')
  })
})

describe('a question', () => {
  it.each([
    ['token refresh', '"token" AND "refresh"'],
    ['NOT (a OR b)* "x" col:y', '"NOT" AND "a" AND "OR" AND "b" AND "x" AND "col" AND "y"'],
    ['部署脚本', '"部署 署脚 脚本"'],
    ['deploy脚本', '"deploy" AND "脚本"'],
    ['！？…', undefined],
  ])('%s holds words and no operators', (text, query) => {
    expect(wordsQuery(text, 'all')).toBe(query)
  })
})
