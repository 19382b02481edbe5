import { describe, expect, it } from 'vitest'
import { createTickets } from '../../daemon/recall/given.ts'
import { testCore } from '../support/core.ts'

async function rig() {
  const { core } = await testCore()
  const tickets = createTickets<string>(core)
  const begin = (sessionId?: string, chars = 10) => tickets.begin(sessionId, chars, async () => 'found')
  return { tickets, begin, has: tickets.cancel }
}

describe('tickets', () => {
  it('of one session make no others go', async () => {
    const { begin, has } = await rig()
    const others = ['a', 'b', undefined].map((session) => begin(session))
    const own = Array.from({ length: 300 }, () => begin('busy'))
    expect(others.map(has)).toEqual([true, true, true])
    const kept = own.filter(has)
    expect(kept).toEqual(own.slice(-kept.length))
    expect(kept.length).toBeGreaterThanOrEqual(10)
    expect(kept.length).toBeLessThanOrEqual(50)
  })

  it('of callers without a session make each other go first', async () => {
    const { begin, has } = await rig()
    const other = begin('a')
    const own = Array.from({ length: 300 }, () => begin())
    expect(has(other)).toBe(true)
    expect(own.filter(has)).toEqual(own.slice(-199))
  })

  it('hold no more than they may all together', async () => {
    const { begin, has } = await rig()
    const large = Array.from({ length: 50 }, (_, n) => begin(`s${n}`, 500_000))
    const kept = large.filter(has)
    expect(kept).toEqual(large.slice(-kept.length))
    expect(kept).toHaveLength(8)
  })

  it('are collected once', async () => {
    const { tickets, begin } = await rig()
    const ticket = begin()
    expect(tickets.collect(ticket)).toBe('pending')
    await Promise.resolve()
    expect(tickets.collect(ticket)).toEqual({ result: 'found' })
    expect(() => tickets.collect(ticket)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }))
  })
})
