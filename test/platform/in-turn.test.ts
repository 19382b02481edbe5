import { expect, it } from 'vitest'
import { createInTurn } from '../../daemon/platform/in-turn.ts'

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
