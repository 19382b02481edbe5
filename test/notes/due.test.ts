import { describe, expect, it } from 'vitest'
import { dueNow } from '../../daemon/notes/due.ts'

const at = { initTokens: 10_000, updateTokens: 5_000, toolCalls: 3 }
const later = (grown: number, toolCalls: number, lastTurnToolCalls: number) =>
  dueNow({ tokens: 40_000 + grown, since: { tokens: 40_000, toolCalls }, lastTurnToolCalls }, at)

describe('notes are due', () => {
  it.each([
    [9_999, { skip: 'there is too little in it yet' }],
    [10_000, { due: 'first' }],
    [10_001, { due: 'first' }],
  ])('first with %i tokens: %o', (tokens, verdict) => {
    expect(dueNow({ tokens, since: undefined, lastTurnToolCalls: 1 }, at)).toEqual(verdict)
  })

  it.each([
    [4_999, 3, 1, { skip: 'too little was said since' }],
    [5_000, 3, 1, { due: 'again' }],
    [5_000, 2, 2, { skip: 'the agent is in the middle of it' }],
    [5_000, 2, 0, { due: 'again' }],
    [5_000, 0, 0, { due: 'again' }],
    // The tokens are required, whatever else was done.
    [4_999, 100, 0, { skip: 'too little was said since' }],
    [-20_000, 100, 0, { skip: 'too little was said since' }],
  ])('again when they grew by %i with %i calls, %i in the last turn: %o', (grown, calls, last, verdict) => {
    expect(later(grown, calls, last)).toEqual(verdict)
  })

  it('by other numbers where the settings have them', () => {
    const own = { initTokens: 0, updateTokens: 1, toolCalls: 0 }
    expect(dueNow({ tokens: 0, since: undefined, lastTurnToolCalls: 0 }, own)).toEqual({ due: 'first' })
    expect(dueNow({ tokens: 8, since: { tokens: 7, toolCalls: 0 }, lastTurnToolCalls: 5 }, own)).toEqual({
      due: 'again',
    })
    expect(dueNow({ tokens: 7, since: { tokens: 7, toolCalls: 9 }, lastTurnToolCalls: 0 }, own)).toHaveProperty('skip')
  })
})
