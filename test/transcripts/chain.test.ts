import { describe, expect, it } from 'vitest'
import { liveChain } from '../../daemon/transcripts/chain.ts'
import { compose, type Draft } from '../../daemon/transcripts/compose.ts'
import type { Fact } from '../../daemon/transcripts/message.ts'

const at = (id: string, parentId?: string | null, more: Partial<Draft> = {}): Fact =>
  compose({ by: 'person', text: id, id, parentId, ...more })
const ids = (...facts: Fact[]) => liveChain(facts).map(({ id }) => id)

describe('the live chain', () => {
  it('is all there is where nothing has a parent', () => {
    expect(ids(at('a'), at('b'), at('c'))).toEqual(['a', 'b', 'c'])
    expect(ids()).toEqual([])
  })

  it('leads to the newest message, whichever branch that is on', () => {
    const tree = [at('a', null), at('b', 'a'), at('c', 'b'), at('d', 'a')]
    expect(ids(...tree)).toEqual(['a', 'd'])
    expect(ids(...tree, at('e', 'c'))).toEqual(['a', 'b', 'c', 'e'])
  })

  it('begins anew with a message that says that it has no parent', () => {
    expect(ids(at('a', null), at('b', 'a'), at('c', null), at('d', 'c'))).toEqual(['c', 'd'])
  })

  it('is one of two that write into one file at once', () => {
    const both = [at('a', null), at('x1', 'a'), at('y1', 'a'), at('x2', 'x1'), at('y2', 'y1')]
    expect(ids(...both)).toEqual(['a', 'y1', 'y2'])
    expect(ids(...both, at('x3', 'x2'))).toEqual(['a', 'x1', 'x2', 'x3'])
  })

  it('takes a parent that is missing for the message before', () => {
    expect(ids(at('a', null), at('b', 'a'), at('c', 'lost'), at('d', 'c'))).toEqual(['a', 'b', 'c', 'd'])
    expect(ids(at('c', 'lost'), at('d', 'c'))).toEqual(['c', 'd'])
  })

  it.each([
    ['a message that is its own parent', [at('a', 'a')], ['a']],
    ['two that are parents of each other', [at('a', 'b'), at('b', 'a')], ['a', 'b']],
    ['a parent that comes later', [at('a', null), at('c', 'b'), at('b', 'a'), at('d', 'c')], ['a', 'c', 'b', 'd']],
  ])('ends for %s', (_what, facts, expected) => {
    expect(ids(...facts)).toEqual(expected)
  })

  it('holds the whole of an answer and all its results', () => {
    const part = (id: string, parentId: string) => at(id, parentId, { by: 'agent', answerId: 'm' })
    const result = (id: string, parentId: string) => at(id, parentId, { by: 'tool' })
    const facts = [at('q', null), part('c1', 'q'), part('c2', 'c1'), part('c3', 'c2')]
    const results = [result('r2', 'c2'), at('hook', 'r2', { by: 'injected' }), result('r3', 'c3'), result('r1', 'c1')]
    expect(ids(...facts, ...results, at('a', 'r1', { by: 'agent' }))).toEqual([
      ...['q', 'c1', 'c2', 'c3'],
      ...['r2', 'r3', 'r1', 'a'],
    ])
  })

  it('does not hold the answer to a prompt that was taken back', () => {
    const answer = at('b', 'a', { by: 'agent', answerId: 'm' })
    expect(ids(at('a', null), answer, at('r', 'b', { by: 'tool' }), at('c', null))).toEqual(['c'])
  })

  it('has a message that came again once, with its last words', () => {
    const chain = liveChain([at('a'), at('b'), at('a', undefined, { text: 'again' })])
    expect(chain.map(({ id, text }) => [id, text])).toEqual([
      ['a', 'again'],
      ['b', 'b'],
    ])
  })

  it('can be rewound, and a message may come back after that', () => {
    const facts = [at('a'), at('b'), at('c')]
    expect(ids(...facts, { kind: 'rewound', from: 'b' }, at('d'))).toEqual(['a', 'd'])
    expect(ids(...facts, { kind: 'rewound', from: 'b' }, at('b'))).toEqual(['a', 'b'])
    expect(ids(...facts, { kind: 'rewound', turns: 0 })).toEqual(['a', 'b', 'c'])
  })

  it('is that of the session, or of the sub-agent that is asked for', () => {
    const facts = [at('a', null), at('s', null, { subAgent: 'x' }), at('t', null, { subAgent: 'y' }), at('b', 'a')]
    expect(ids(...facts)).toEqual(['a', 'b'])
    expect(liveChain(facts, { subAgent: 'x' }).map(({ id }) => id)).toEqual(['s'])
  })

  it('says of each message where it was said', () => {
    const facts: Fact[] = [
      { kind: 'session', sessionId: 's', cwd: '/one', branch: 'main', model: 'm' },
      at('a'),
      { kind: 'session', cwd: '/two' },
      at('b', undefined, { by: 'agent' }),
    ]
    expect(liveChain(facts).map(({ id, cwd, branch, model }) => ({ id, cwd, branch, model }))).toEqual([
      { id: 'a', cwd: '/one', branch: 'main', model: undefined },
      { id: 'b', cwd: '/two', branch: 'main', model: 'm' },
    ])
  })

  it('is walked once, however long it is', () => {
    const long = Array.from({ length: 20_000 }, (_, n) => at(`${n}`, n === 0 ? null : `${n - 1}`))
    const rewinds = Array.from({ length: 10_000 }, (_, n): Fact => ({ kind: 'rewound', from: `${19_999 - n}` }))
    expect(ids(...long)).toHaveLength(20_000)
    expect(liveChain([...long, ...rewinds])).toHaveLength(10_000)
  })
})
