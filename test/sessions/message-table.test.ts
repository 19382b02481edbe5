import { describe, expect, it } from 'vitest'
import { endedPart } from '../../daemon/sessions/message-table.ts'
import { ingestRig } from '../transcripts/ingest-rig.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 16, 10, 0, second)).toISOString()
const line = (record: object) => JSON.stringify(record)
const asks = (id: string, second: number, more: object = {}) =>
  line({ type: 'user', id, text: `${id}?`, at: at(second), ...more })
const calls = (id: string) => line({ type: 'assistant', id, toolCalls: [{ id, name: 'ls', input: {} }], at: at(1) })
const answers = (id: string, second: number) => line({ type: 'assistant', id, text: id, end: 'final', at: at(second) })

async function rig() {
  const ground = await ingestRig()
  const uids = (session: string, reached?: { message: string; at: number }) => {
    const { row = 0 } = ground.sessions.session('generic', session) ?? {}
    return [...ground.sessions.after(row, reached)].flatMap(({ part }) => part.map(({ uid }) => uid))
  }
  return { ...ground, uids }
}

it('tells what was said in a session itself, and neither what was taken back nor what a sub-agent was told', async () => {
  const { write, read, uids } = await rig()
  const begin = line({ type: 'session', id: 's', cwd: '/work' })
  const back = line({ type: 'rewind', from: 'q2' })
  write('s.jsonl', [
    begin,
    asks('q1', 1),
    answers('a1', 2),
    asks('sub', 3, { subAgent: 'x' }),
    asks('q2', 4),
    back,
    asks('q3', 5),
    answers('a3', 6),
  ])
  await read('generic', 's.jsonl')
  expect(uids('s')).toEqual(['q1', 'a1', 'q3', 'a3'])
  expect(uids('s', { message: 'a1', at: Date.parse(at(2)) })).toEqual(['q3', 'a3'])
  // Of a message that is gone, the time is left.
  expect(uids('s', { message: 'lost', at: Date.parse(at(1)) })).toEqual(['a1', 'q3', 'a3'])
})

it('tells what a fork has copied only where it was said first', async () => {
  const { write, read, uids } = await rig()
  const said = [asks('q1', 1), answers('a1', 2)]
  write('s.jsonl', [line({ type: 'session', id: 's', cwd: '/work' }), ...said])
  write('f.jsonl', [
    line({ type: 'session', id: 'f', forkOf: 's', cwd: '/work' }),
    ...said,
    asks('q2', 3),
    answers('a2', 4),
  ])
  await read('generic', 's.jsonl')
  await read('generic', 'f.jsonl')
  expect({ s: uids('s'), f: uids('f') }).toEqual({ s: ['q1', 'a1'], f: ['q2', 'a2'] })
})

it('tells a long session in parts of whole turns, and one turn that is longer than a part as a whole', async () => {
  const { write, read, sessions } = await rig()
  const turnOf = (n: number, steps: number) => [
    asks(`q${n}`, 1),
    ...Array.from({ length: steps }, (_, step) => calls(`w${n}.${step}`)),
    answers(`a${n}`, 1),
  ]
  const turns = Array.from({ length: 2_000 }, (_, n) => turnOf(n, n === 700 ? 5_000 : 1)).flat()
  write('s.jsonl', [line({ type: 'session', id: 's', cwd: '/work' }), ...turns, asks('open', 1)])
  await read('generic', 's.jsonl')
  const { row = 0 } = sessions.session('generic', 's') ?? {}
  const parts = [...sessions.after(row, undefined)].map(({ part }) => part).filter(({ length }) => length > 0)
  expect(parts.flat().map(({ uid }) => uid)).toEqual(turns.map((each) => JSON.parse(each).id))
  for (const part of parts) expect([part[0]?.uid[0], part.at(-1)?.uid[0]]).toEqual(['q', 'a'])
  const sizes = parts.map(({ length }) => length).sort((a, b) => b - a)
  expect(sizes[1]).toBeLessThanOrEqual(2_000)
})

it('counts no end for which the agent went on, also where it stands last in a part', async () => {
  const { write, read, sessions } = await rig()
  const before = Array.from({ length: 999 }, (_, n) => [asks(`q${n}`, 1), answers(`a${n}`, 1)]).flat()
  const last = [asks('q', 1), answers('seems', 1), calls('goes on')]
  write('s.jsonl', [line({ type: 'session', id: 's', cwd: '/work' }), ...before, ...last])
  await read('generic', 's.jsonl')
  const { row = 0 } = sessions.session('generic', 's') ?? {}
  const told = [...sessions.after(row, undefined)].flatMap(({ part }) => part.map(({ uid }) => uid))
  expect(told.slice(-2)).toEqual(['q998', 'a998'])
})

type Spoken = { by: string; startsTurn: 0 | 1; ends: string | null }

const asked: Spoken = { by: 'person', startsTurn: 1, ends: null }
const works: Spoken = { by: 'agent', startsTurn: 0, ends: null }
const result: Spoken = { by: 'tool', startsTurn: 0, ends: null }
const final: Spoken = { by: 'agent', startsTurn: 0, ends: 'final' }
const command: Spoken = { by: 'injected', startsTurn: 1, ends: null }

describe('what belongs to turns that are over', () => {
  it.each([
    ['nothing of a turn that runs', [asked, works, result], 0],
    ['a turn with its end', [asked, works, final], 3],
    ['not the turn that has begun after it', [asked, final, asked, works], 2],
    ['the turn before a command without an answer', [asked, final, command], 2],
    ['nothing where the agent went on after all', [asked, final, works], 0],
    ['the earlier turn where the agent went on in the later', [asked, final, asked, final, result], 2],
    ['a turn that was cut off, with the next that has ended', [asked, works, asked, final], 4],
  ])('is %s', (_, messages, length) => {
    expect(endedPart(messages)).toEqual(messages.slice(0, length))
  })
})
