import { execFileSync } from 'node:child_process'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseQuery } from '../../daemon/sessions/search.ts'
import { createMessageWords } from '../../daemon/transcripts/message-index.ts'
import { spokenRig } from '../support/spoken.ts'

const at = (day: number) => new Date(Date.UTC(2025, 11, day)).toISOString()
const user = (id: string, text: string, more: object = {}) => ({ type: 'user', id, text, at: at(1), ...more })

describe('search', () => {
  it('tells session, time, role, a snippet with its hits, and the place in the file', async () => {
    const rig = await spokenRig()
    const path = await rig.say([user('a', 'first'), user('b', `${'so '.repeat(40)}the Token\nrefresh fails`)])
    const [line = 0, next = 0] = [JSON.stringify(user('a', 'first')).length, statSync(path).size]
    const { items } = await rig.find('token refresh')
    const snippet = `…${'so '.repeat(40).slice(-56)}the Token refresh fails`
    const from = snippet.indexOf('Token')
    expect(items).toEqual([
      {
        sessionId: 'one',
        harness: 'generic',
        messageId: 'b',
        role: 'person',
        at: at(1),
        snippet,
        hits: [
          { from, to: from + 5 },
          { from: from + 6, to: from + 13 },
        ],
        path,
        offset: line + 1,
        length: next - line - 2,
      },
    ])
  })

  it('finds the same when the parts of the index have been put together', async () => {
    const rig = await spokenRig()
    for (let n = 0; n < 40; n++)
      await rig.say([user(`m${n}`, `plum number${n} ${n % 3 ? 'pear' : 'fig'}`)], { session: `s${n}` })
    rig.words.put([{ id: rig.told[0]?.id ?? 0, text: '' }])
    const questions = ['plum', 'number7', '"umber1"', 'plum fig', '"pear"', 'number0']
    const before = await Promise.all(questions.map(rig.ids))
    const steps: string[] = []
    while (steps.at(-1) !== 'done') steps.push(rig.words.merge())
    expect(steps.length).toBeGreaterThan(1)
    expect(rig.words.merge()).toBe('done')
    expect(await Promise.all(questions.map(rig.ids))).toEqual(before)
    expect(before.map(({ length }) => length)).toEqual([39, 1, 11, 13, 26, 0])
  })

  it('finds Chinese from two characters on, in words and in literals', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', '请先运行部署脚本，再提交。'), user('b', '部门的署名'), user('c', 'deploy部署')])
    expect((await rig.ids('部署')).sort()).toEqual(['a', 'c'])
    expect(await rig.ids('部署脚本')).toEqual(['a'])
    expect(await rig.ids('"署脚"')).toEqual(['a'])
    expect((await rig.ids('"署"')).sort()).toEqual(['a', 'b', 'c'])
  })

  it('narrows by session, role and time', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'apple', { at: at(1) }), { type: 'assistant', id: 'b', text: 'apple', at: at(30) }])
    await rig.say([user('c', 'apple', { at: at(30) }), { type: 'tool', id: 'd', text: 'apple' }], { session: 'two' })
    expect((await rig.ids('apple')).length).toBe(4)
    expect((await rig.ids('apple session:two')).sort()).toEqual(['c', 'd'])
    expect(await rig.ids('apple role:agent')).toEqual(['b'])
    expect(await rig.ids('apple role:tool')).toEqual(['d'])
    expect((await rig.ids('apple since:7d')).sort()).toEqual(['b', 'c'])
    expect((await rig.ids('"pp" since:2025-12-20')).sort()).toEqual(['b', 'c'])
  })

  it('puts the better match first, and of equal ones the newer', async () => {
    const rig = await spokenRig()
    const far = `apple ${'and a lot of other things '.repeat(20)}`
    await rig.say([
      user('new', 'apple pie', { at: at(30) }),
      user('old', 'apple pie', { at: at(1) }),
      user('far', far, { at: at(30) }),
      ...Array.from({ length: 20 }, (_, n) => user(`x${n}`, 'something else')),
    ])
    expect(await rig.ids('apple')).toEqual(['new', 'old', 'far'])
    expect((await rig.find('apple', { limit: 1 })).items.map(({ messageId }) => messageId)).toEqual(['new'])
  })

  it('falls back to some of the words when no message has all of them', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'apple pie'), user('b', 'cherry pie')])
    expect(await rig.ids('apple pie')).toEqual(['a'])
    expect((await rig.ids('apple cherry')).sort()).toEqual(['a', 'b'])
  })

  it('sees the sessions of the own project only, and none where memory is off', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'apple')])
    await rig.say([user('b', 'apple')], { session: 'two', project: '/elsewhere' })
    expect(await rig.ids('apple')).toEqual(['a'])
    expect(await rig.ids('"pple"')).toEqual(['a'])
    expect(await rig.ids('apple session:two')).toEqual([])
    rig.projects.pause(undefined)
    expect(await rig.find('apple')).toEqual({ items: [], skipped: 'off' })
  })

  it('tells a message that a fork copied once, unless that session is asked for', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'apple')])
    await rig.say([user('a', 'apple')], { session: 'fork' })
    rig.store.index().exec(`UPDATE messages SET copied = 1 WHERE id = 2`)
    expect((await rig.find('apple')).items.map(({ sessionId }) => sessionId)).toEqual(['one'])
    expect((await rig.find('apple session:fork')).items.map(({ sessionId }) => sessionId)).toEqual(['fork'])
  })

  it('tells the first copy when the origin was deleted, and the origin when it is back', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'apple')])
    await rig.say([user('a', 'apple')], { session: 'fork' })
    await rig.say([user('a', 'apple')], { session: 'other fork' })
    const db = rig.store.index()
    const found = async () => (await rig.find('apple')).items.map(({ sessionId }) => sessionId)
    db.exec(`UPDATE messages SET copied = 1 WHERE id > 1; UPDATE files SET gone = 1 WHERE id = 1`)
    expect(await found()).toEqual(['fork'])
    db.exec(`UPDATE files SET gone = 1 WHERE id = 2`)
    expect(await found()).toEqual(['other fork'])
    db.exec(`UPDATE files SET gone = 0`)
    expect(await found()).toEqual(['one'])
    db.exec(`UPDATE messages SET gone = 1 WHERE id = 1`)
    expect(await found()).toEqual(['fork'])
  })

  it('leaves out what can no longer be read, and waits for nothing that stands in its place', async () => {
    const rig = await spokenRig()
    const gone = await rig.say([user('gone', 'apple pie')], { session: 'gone' })
    const anew = await rig.say([user('anew', 'apple pie')], { session: 'anew' })
    const pipe = await rig.say([user('pipe', 'apple pie')], { session: 'pipe' })
    await rig.say([user('there', 'apple pie')])
    rmSync(gone)
    writeFileSync(anew, `${JSON.stringify(user('anew', 'lemon pie'))}\n`)
    rmSync(pipe)
    execFileSync('mkfifo', [pipe])
    expect(await rig.ids('apple')).toEqual(['there'])
    expect(await rig.ids('"apple"')).toEqual(['there'])
  })

  it('finds a literal that stands there only since credentials were taken out, and none that was one', async () => {
    const rig = await spokenRig()
    const secret = ['ghp', 'R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m'].join('_')
    await rig.say([user('a', `use ${secret} for now`)])
    for (const literal of ['use [redacted:git', 'token] for', 'acted:github', 'use ', ' for now'])
      expect(await rig.ids(`"${literal}"`), literal).toEqual(['a'])
    for (const literal of [secret, 'R4nd0m', 'use ghp']) expect(await rig.ids(`"${literal}"`), literal).toEqual([])
  })

  it('forgets the words of a message that is removed, and replaces those of one that is put again', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'apple'), user('b', 'apple')])
    rig.words.put([{ id: 1, text: '' }])
    expect(await rig.ids('apple')).toEqual(['b'])
    rig.words.put([{ id: 2, text: 'cherry' }])
    expect(await rig.ids('apple')).toEqual([])
  })

  it('knows the terms of what is put again after a transaction that was rolled back', async () => {
    const rig = await spokenRig()
    await rig.say([user('a', 'strawberry'), user('b', 'strawberry')])
    rig.words.put([{ id: 1, text: 'plum' }])
    const putTwice = rig.store.index().transaction(() => {
      rig.words.put([{ id: 1, text: 'strawberry xylophone' }])
      throw new Error('no')
    })
    expect(putTwice).toThrow('no')
    rig.words.forget()
    rig.words.put([{ id: 1, text: 'strawberry xylophone' }])
    const [terms] = rig.store.index().prepare('SELECT terms FROM term_blocks').pluck().all() as string[]
    expect(terms?.split('\n')).toEqual(['strawberry', 'plum', 'xylophone'])
  })

  it('puts no term down twice when another thread goes on', async () => {
    const rig = await spokenRig()
    const terms = () =>
      (rig.store.index().prepare('SELECT terms FROM term_blocks').pluck().all() as string[]).join('\n').split('\n')
    createMessageWords(rig.store.index()).put([{ id: 1, text: 'strawberry' }])
    createMessageWords(rig.store.index()).put([{ id: 2, text: 'strawberry plum' }])
    expect(terms()).toEqual(['strawberry', 'plum'])
    await rig.say([user('a', 'strawberry')])
    expect(await rig.ids('"wberr"')).toEqual(['a'])
  })

  it('refuses a question that asks for nothing', async () => {
    const rig = await spokenRig()
    await expect(rig.find('role:tool')).rejects.toMatchObject({ code: 'BAD_REQUEST' })
  })

  it('stops when the caller hangs up', async () => {
    const rig = await spokenRig()
    await rig.say(Array.from({ length: 40 }, (_, n) => user(`m${n}`, 'apple')))
    await expect(rig.find('apple', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
  })
})

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
