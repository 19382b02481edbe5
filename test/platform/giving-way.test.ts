import { describe, expect, it } from 'vitest'
import { createGivingWay } from '../../daemon/platform/giving-way.ts'

function rig() {
  const thread = { busyMs: 1_000 }
  return { thread, ...createGivingWay({ busy: () => thread.busyMs }) }
}

describe('what nobody waits for', () => {
  it('does not rest while nobody asks', () => {
    const { thread, asked, begin } = rig()
    asked()
    begin()()
    const restMs = begin()
    thread.busyMs += 4
    expect(restMs()).toBe(0)
  })

  it('rests, too, when somebody asked between two pieces', () => {
    const { thread, asked, begin } = rig()
    begin()()
    asked()
    const restMs = begin()
    thread.busyMs += 1
    expect(restMs()).toBe(50)
  })

  it('rests many times as long as it worked while somebody asks', () => {
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
