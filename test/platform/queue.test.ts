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
  const time = manualTime()
  const done: string[] = []
  const note = (what: string) => () => void done.push(what)
  return { thread, time, done, note, ...createGivingWay({ ...time.clock, busy: () => thread.busyMs }) }
}

const settled = async () => {
  for (let turns = 0; turns < 6; turns++) await new Promise<void>((resolve) => setImmediate(resolve))
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

describe('beside hooks that come without a pause', () => {
  it('any number of others has its turn at once while none of them is asked', async () => {
    const { admit } = rig()
    const admitted = await Promise.all(Array.from({ length: 1_000 }, () => admit().then(() => true)))
    expect(new Set(admitted)).toEqual(new Set([true]))
  })

  it('the rest has its turn after 100 ms, what has waited longest first', async () => {
    const { time, done, note, beginUrgent, admit, turn } = rig()
    beginUrgent()
    void turn().then(note('piece'))
    time.pass(60)
    void admit().then(note('request'))
    await settled()
    time.pass(30)
    beginUrgent()
    await settled()
    expect(done).toEqual([])
    time.pass(10)
    await settled()
    expect(done).toEqual(['piece'])
    time.pass(60)
    await settled()
    expect(done).toEqual(['piece', 'request'])
  })

  it('one that takes long, such as a recall that waits for a model, comes first for 250 ms only', async () => {
    const { time, done, note, beginUrgent, turn } = rig()
    const answered = beginUrgent()
    time.pass(250)
    await turn().then(note('piece'))
    answered()
    expect(done).toEqual(['piece'])
  })
})
