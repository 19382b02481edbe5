import { describe, expect, it } from 'vitest'
import { compose, type Draft } from '../../daemon/transcripts/compose.ts'
import type { Message } from '../../daemon/transcripts/message.ts'
import { turnsOf } from '../../daemon/transcripts/turns.ts'
import { usageOf } from '../../daemon/transcripts/usage.ts'

let clock = 0
const said = (by: Draft['by'], text: string, more: Partial<Draft> = {}): Message =>
  compose({ by, text, id: text, at: ++clock, ...more })
const asks = (text: string) => said('person', text, { startsTurn: true })
const answers = (text: string) => said('agent', text, { ends: 'final' })
const notice = (id: string) => said('injected', '', { id, startsTurn: true })
const told = (...chain: Message[]) =>
  turnsOf(chain).map(({ startedBy, end, messageIds }) => `${startedBy} ${messageIds.join(' ')} ${end}`)

const used = (input: number) => ({ input, output: 1, cacheRead: 2, cacheWrite: 3 })

describe('the turns of a chain', () => {
  it('are told whole', () => {
    const call = { id: 'c', name: 'Bash', input: 'ls' }
    const chain = [
      said('injected', '', { id: 'i' }),
      compose({ by: 'person', text: 'list', id: 'q', at: 1000, startsTurn: true, cwd: '/work' }),
      compose({ by: 'agent', id: 'c', at: 2000, toolCalls: [call], answerId: 'm', usage: used(10) }),
      compose({ by: 'agent', id: 'd', at: 2000, text: 'look', answerId: 'm', usage: used(11) }),
      compose({ by: 'injected', id: 'h', at: 2500 }),
      compose({ by: 'tool', id: 'r', at: 3000, toolResults: [{ callId: 'c', text: 'a.ts' }] }),
      compose({ by: 'agent', id: 'a', at: 4000, text: 'done', ends: 'final', answerId: 'n', usage: used(20) }),
      compose({ by: 'system', id: 's', at: 5000 }),
    ]
    expect(turnsOf(chain)).toEqual([
      {
        startedBy: 'person',
        prompt: 'list',
        end: 'final',
        toolCalls: [call],
        messageIds: ['q', 'c', 'd', 'r', 'a'],
        usage: { input: 31, output: 2, cacheRead: 4, cacheWrite: 6 },
        startedAt: 1000,
        endedAt: 4000,
        cwd: '/work',
      },
    ])
  })

  it('end with the last answer, though a hook kept the agent from stopping', () => {
    expect(told(asks('q'), answers('a'), said('injected', '', { id: 'hook' }), said('agent', 'b'))).toEqual([
      'person q a b open',
    ])
    expect(told(asks('q'), answers('a'), said('agent', 'b', { ends: 'final' }))).toEqual(['person q a b final'])
  })

  it('are over when the next begins', () => {
    const settling = said('agent', 'a', { ends: 'settling' })
    expect(told(asks('q'), settling)).toEqual(['person q a settling'])
    expect(told(asks('q'), settling, asks('r'))).toEqual(['person q a final', 'person r open'])
    expect(told(asks('q'), said('agent', 'b'), asks('r'))).toEqual(['person q b aborted', 'person r open'])
  })

  it('begin without a person when an agent answers a notice', () => {
    expect(told(asks('q'), answers('a'), notice('n'))).toEqual(['person q a final'])
    expect(told(asks('q'), answers('a'), notice('n'), answers('b'))).toEqual(['person q a final', 'injected n b final'])
  })

  it('do not begin with a command that no agent answers', () => {
    const printed = said('injected', '', { id: 'stdout' })
    const chain = [asks('q'), answers('a'), notice('/compact'), printed, said('system', '', { id: 'none' }), asks('r')]
    expect(told(...chain, answers('b'))).toEqual(['person q a final', 'person r b final'])
  })

  it('are not broken by a notice in the middle', () => {
    expect(told(asks('q'), said('agent', 'a'), notice('n'), answers('b'))).toEqual(['person q a b final'])
  })

  it('are none where nobody asked', () => {
    expect(told(answers('a'), said('tool', ''))).toEqual([])
  })
})

describe('usage', () => {
  it('counts each answer once and each message without one', () => {
    const parts = [
      compose({ by: 'agent', answerId: 'm', usage: used(1) }),
      compose({ by: 'agent', answerId: 'm', usage: used(5) }),
      compose({ by: 'agent', usage: used(10) }),
      compose({ by: 'agent', usage: used(10) }),
    ]
    expect(usageOf(parts)).toEqual({ input: 25, output: 3, cacheRead: 6, cacheWrite: 9 })
    expect(usageOf([])).toEqual({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })
  })

  it('takes the last count of all, less what a fork began with', () => {
    const count = (all: number, last: number) =>
      compose({ by: 'system', total: { usage: { ...used(all) }, last: { ...used(last), output: 1 } } })
    expect(usageOf([count(30, 10), count(30, 10), count(45, 15)])).toEqual({
      input: 25,
      output: 1,
      cacheRead: 2,
      cacheWrite: 3,
    })
  })
})
