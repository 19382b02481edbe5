import { describe, expect, it } from 'vitest'
import { learn, type Session } from '../../../daemon/transcripts/digest.ts'
import { adapterFor, adapters } from '../../../daemon/transcripts/formats/format.ts'
import { injectedBlock } from '../../../daemon/transcripts/injected.ts'
import { liveChain, turnsOf } from '../../../daemon/transcripts/read-back.ts'
import { samples } from '../samples.ts'

/** Who said what on the live chain, and how its turns end: the same for every harness. */
function story(harness: string, lines: string[], session: Session = {}) {
  const facts = lines.flatMap((line) => adapterFor(harness).read(line))
  const chain = liveChain(facts, { session })
  return {
    said: chain.filter(({ text }) => text !== '').map(({ by, text }) => `${by}: ${text}`),
    turns: turnsOf(chain).map(({ prompt, end }) => `${prompt} ${end === 'settling' ? 'final' : end}`),
    counted: facts.flatMap((fact) => (fact.kind === 'broken' || fact.kind === 'unknown' ? [fact.kind] : [])),
  }
}

it('has a sample of every harness', () => {
  expect(samples.map(({ harness }) => harness)).toEqual(adapters.map(({ harness }) => harness))
})

describe.each(samples)(
  'a transcript of $harness',
  ({ harness, begin, asks, answers, injects, subAgent, fork, unknown }) => {
    const first = [
      ...begin,
      asks({ id: 'q1', after: null, text: 'one?' }),
      ...answers({ id: 'a1', after: 'q1', text: 'one' }),
    ]
    const second = [asks({ id: 'q2', after: 'a1', text: 'two?' }), ...answers({ id: 'a2', after: 'q2', text: 'two' })]
    const whole = {
      said: ['person: one?', 'agent: one', 'person: two?', 'agent: two'],
      turns: ['one? final', 'two? final'],
      counted: [] as string[],
    }

    it('goes on where it is resumed', () => {
      expect(story(harness, first)).toEqual({ said: whole.said.slice(0, 2), turns: ['one? final'], counted: [] })
      expect(story(harness, [...first, ...begin, ...second])).toEqual(whole)
    })

    it('survives a partial line', () => {
      const torn = asks({ id: 'q9', after: 'a1', text: 'torn' }).slice(0, -9)
      expect(story(harness, [...first, torn, '', ...second])).toEqual({ ...whole, counted: ['broken'] })
    })

    it('has lines of an unknown type, which are counted', () => {
      expect(story(harness, [...first, unknown, ...second])).toEqual({ ...whole, counted: ['unknown'] })
    })

    it('is the same when lines come twice', () => {
      expect(story(harness, [...first, ...first, ...second, ...second])).toEqual(whole)
    })

    it('tells what is left when its head is gone', () => {
      expect(story(harness, second)).toEqual({ ...whole, said: whole.said.slice(2), turns: ['two? final'] })
    })

    it('tells what is left when a line in the middle is gone', () => {
      const lost = first.filter((line) => !line.includes('"one"'))
      expect(story(harness, [...lost, ...second])).toMatchObject({
        said: ['person: one?', 'person: two?', 'agent: two'],
      })
    })

    it('is not ended by an open turn', () => {
      expect(story(harness, [...first, second[0] as string]).turns).toEqual(['one? final', 'two? open'])
      const third = asks({ id: 'q3', after: 'q2', text: 'three?' })
      expect(story(harness, [...first, second[0] as string, third]).turns).toEqual([
        'one? final',
        'two? aborted',
        'three? open',
      ])
    })

    it('holds text that was injected, and not said', () => {
      const told = story(harness, [
        ...begin,
        ...injects({ id: 'i0', after: null, text: 'PROBE' }),
        asks({ id: 'q1', after: 'i0', text: `${injectedBlock('PROBE')}\none?` }),
        ...injects({ id: 'i1', after: 'q1', text: 'PROBE' }),
        ...answers({ id: 'a1', after: 'i1', text: 'one' }),
      ])
      expect(told).toEqual({ said: ['person: one?', 'agent: one'], turns: ['one? final'], counted: [] })
    })

    it('holds private spans, which are not kept', () => {
      const told = story(harness, [
        ...begin,
        asks({ id: 'q1', after: null, text: 'keep <private>SECRET</private> this' }),
      ])
      expect(told.said).toEqual(['person: keep  this'])
    })

    it('may be that of a sub-agent, to whom an agent speaks', () => {
      const lines = [
        ...subAgent.begin,
        subAgent.asks({ id: 'q1', after: null, text: 'look' }),
        ...answers({ id: 'a1', after: 'q1', text: 'seen' }).map((line) =>
          line.replace('"isSidechain":false', '"isSidechain":true,"agentId":"helper"'),
        ),
      ]
      const told = story(harness, lines, { sessionId: 's', subAgent: 'helper' })
      expect(told).toEqual({ said: ['agent: look', 'agent: seen'], turns: ['look final'], counted: [] })
    })

    it('may be a fork, which names its origin or repeats its messages', () => {
      const session = (fork ?? begin)
        .flatMap((line) => adapterFor(harness).read(line))
        .reduce<Session>((known, fact) => (fact.kind === 'session' ? learn(known, fact) : known), {})
      expect(session.forkOf).toBe(fork && 'origin')
      expect(story(harness, [...first, ...(fork ?? []), ...first, ...second])).toEqual(whole)
    })
  },
)
