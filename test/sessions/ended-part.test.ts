import { describe, expect, it } from 'vitest'
import { endedPart } from '../../daemon/sessions/message-table.ts'

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
    ['the turn before a command that nobody answered', [asked, final, command], 2],
    ['nothing where the agent went on after all', [asked, final, works], 0],
    ['the earlier turn where the agent went on in the later', [asked, final, asked, final, result], 2],
    ['a turn that was cut off, with the next that has ended', [asked, works, asked, final], 4],
  ])('is %s', (_, messages, length) => {
    expect(endedPart(messages)).toEqual(messages.slice(0, length))
  })
})
