import { describe, expect, it } from 'vitest'
import { endedPart } from '../../daemon/sessions/message-table.ts'
import { ingestRig } from '../transcripts/ingest-rig.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 16, 10, 0, second)).toISOString()
const line = (record: object) => JSON.stringify(record)
const asks = (id: string, second: number, more: object = {}) =>
  line({ type: 'user', id, text: `${id}?`, at: at(second), ...more })
const answers = (id: string, second: number) => line({ type: 'assistant', id, text: id, end: 'final', at: at(second) })

async function rig() {
  const ground = await ingestRig()
  const uids = (session: string, reached?: { message: string; at: number }) => {
    const { row = 0 } = ground.sessions.session('generic', session) ?? {}
    return ground.sessions.after(row, reached).map(({ uid }) => uid)
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
  ])
  await read('generic', 's.jsonl')
  expect(uids('s')).toEqual(['q1', 'a1', 'q3'])
  expect(uids('s', { message: 'a1', at: Date.parse(at(2)) })).toEqual(['q3'])
  // Of a message that is gone, the time is left.
  expect(uids('s', { message: 'lost', at: Date.parse(at(1)) })).toEqual(['a1', 'q3'])
})

it('tells what a fork has copied only where it was said first', async () => {
  const { write, read, uids } = await rig()
  const said = [asks('q1', 1), answers('a1', 2)]
  write('s.jsonl', [line({ type: 'session', id: 's', cwd: '/work' }), ...said])
  write('f.jsonl', [line({ type: 'session', id: 'f', forkOf: 's', cwd: '/work' }), ...said, asks('q2', 3)])
  await read('generic', 's.jsonl')
  await read('generic', 'f.jsonl')
  expect({ s: uids('s'), f: uids('f') }).toEqual({ s: ['q1', 'a1'], f: ['q2'] })
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
