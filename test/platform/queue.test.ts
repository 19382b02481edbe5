import { describe, expect, it } from 'vitest'
import { createGivingWay, createInTurn } from '../../daemon/platform/queue.ts'
import { manualTime } from '../support/clock.ts'

it('runs work on one thing in turn, work on others beside it, and goes on after a failure', async () => {
  const inTurn = createInTurn()
  const order: string[] = []
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const first = inTurn('a', async () => {
    order.push('a1 begins')
    await held
    order.push('a1 fails')
    throw new Error('a1')
  })
  const second = inTurn('a', async () => order.push('a2'))
  await inTurn('b', async () => order.push('b1'))
  letGo()
  await expect(first).rejects.toThrow('a1')
  await second
  expect(order).toEqual(['a1 begins', 'b1', 'a1 fails', 'a2'])
})

function rig() {
  const thread = { busyMs: 1_000 }
  return { thread, ...createGivingWay({ ...manualTime().clock, busy: () => thread.busyMs }) }
}

describe('background work', () => {
  it('does not rest while no request comes', () => {
    const { thread, asked, begin } = rig()
    asked()
    begin()()
    const restMs = begin()
    thread.busyMs += 4
    expect(restMs()).toBe(0)
  })

  it('rests, too, when a request came between two pieces', () => {
    const { thread, asked, begin } = rig()
    begin()()
    asked()
    const restMs = begin()
    thread.busyMs += 1
    expect(restMs()).toBe(50)
  })

  it('rests many times as long as it worked while requests come', () => {
    const { thread, asked, begin } = rig()
    const restMs = begin()
    thread.busyMs += 4
    asked()
    expect(restMs()).toBe(200)
  })

  it('never rests for long', () => {
    const { thread, asked, begin } = rig()
    const restMs = begin()
    thread.busyMs += 10_000
    asked()
    expect(restMs()).toBe(300)
  })
})
