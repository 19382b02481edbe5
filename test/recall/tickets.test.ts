import { describe, expect, it } from 'vitest'
import { createTickets } from '../../daemon/recall/tickets.ts'
import { RecallRequest } from '../../schema/recall.ts'
import { manualTime } from '../support/clock.ts'

const caller = { actor: 'agent:test', env: {} }

function rig() {
  const begun: RecallRequest[] = []
  const tickets = createTickets({
    begin: async (request) => {
      begun.push(request)
      return request.query
    },
    finish: async () => ({ mode: 'local', memories: [], text: '', bytes: 0, sessionBytes: 0 }),
    sessionOf: ({ sessionId }) => sessionId,
    clock: manualTime().clock,
  })
  const begin = (sessionId?: string, query = 'q', more: object = {}) =>
    tickets.begin(RecallRequest.parse({ cwd: '/', query, ...(sessionId && { sessionId }), ...more }), caller).ticket
  const has = (ticket: string) => tickets.cancel(ticket).cancelled
  return { begin, has, begun }
}

describe('tickets', () => {
  it('of one session make no others go', () => {
    const { begin, has } = rig()
    const others = ['a', 'b', undefined].map((session) => begin(session))
    const own = Array.from({ length: 300 }, () => begin('busy'))
    expect(others.map(has)).toEqual([true, true, true])
    const kept = own.filter(has)
    expect(kept).toEqual(own.slice(-kept.length))
    expect(kept.length).toBeGreaterThanOrEqual(10)
    expect(kept.length).toBeLessThanOrEqual(50)
  })

  it('of callers without a session make each other go first', () => {
    const { begin, has } = rig()
    const other = begin('a')
    const own = Array.from({ length: 300 }, () => begin())
    expect(has(other)).toBe(true)
    expect(own.filter(has)).toEqual(own.slice(-199))
  })

  it('hold the beginning and the end of a long question, and no more than they may all together', () => {
    const { begin, has, begun } = rig()
    begin('a', `first ${'x'.repeat(900_000)} last`)
    expect(begun[0]?.query).toMatch(/^first x+\nx+ last$/)
    expect(begun[0]?.query.length).toBeLessThan(40_000)
    const readFiles = Array.from({ length: 500 }, () => 'f'.repeat(1_000))
    const large = Array.from({ length: 50 }, (_, n) => begin(`s${n}`, 'q', { readFiles }))
    const kept = large.filter(has)
    expect(kept).toEqual(large.slice(-kept.length))
    expect(kept.length * 500_000).toBeLessThanOrEqual(8_000_000)
    expect(kept.length).toBeGreaterThan(1)
  })
})
