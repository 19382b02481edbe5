import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import {
  createMessageSearch,
  createMessageWords,
  demandOfLiteral,
  demandOfWord,
  tokensOf,
} from '../../daemon/transcripts/message-index.ts'
import { makeHome } from '../support/home.ts'

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

it('finds terms of many blocks by any part of them, also after many others', () => {
  const store = openDatabases(join(makeHome().dir, 'state'), 0)
  onTestFinished(() => store.close())
  const db = store.index()
  db.exec(`INSERT INTO files (id, harness, root, path, born, cursor, known) VALUES (1, 'pi', '/', '/a', 0, '{}', '{}');
    INSERT INTO sessions (id, harness, session, project) VALUES (1, 'pi', 's', '/p')`)
  const message =
    db.prepare(`INSERT INTO messages (id, session, file, offset, length, uid, sub_agent, said_by, starts_turn, tool_calls)
    VALUES (?, 1, 1, 0, 1, ?, '', 'person', 0, 0)`)
  const words = createMessageWords(db)
  const search = createMessageSearch(store.index)
  const texts = Array.from({ length: 300 }, (_, n) =>
    Array.from({ length: 100 }, (_, m) => `${(n * 7_919 + m).toString(36)}é${n * 100 + m}字ß`).join(' '),
  )
  db.transaction(() => {
    for (const [n, text] of texts.entries()) {
      message.run(n + 1, `m${n}`)
      words.put([{ id: n + 1, text }])
    }
  })()
  expect(db.prepare('SELECT count(*) > 5 FROM term_blocks').pluck().get()).toBe(1)
  const found = (literal: string) =>
    search(
      {
        ...{ words: [], match: 'all', literals: [demandOfLiteral(literal)], project: '/p' },
        ...{ session: undefined, saidBy: undefined, sinceMs: undefined },
      },
      { before: 9_999, most: 9_999 },
    )
      .map(({ id }) => id - 1)
      .toReversed()
  for (const part of ['e29', 'e290', '290', '7e1', 'q', 'zzzz']) {
    const folded = texts.map((text) => text.replaceAll('é', 'e'))
    expect(found(part), part).toEqual([...folded.keys()].filter((n) => folded[n]?.includes(part)))
  }
})
