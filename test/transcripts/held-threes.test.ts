import { expect, it } from 'vitest'
import { createHeldThrees } from '../../daemon/transcripts/held-threes.ts'

const KINDS = 64

/** Every third of the threes, and the one that has the block's number. */
const threesOf = (block: number) =>
  Array.from({ length: KINDS }, (_, three) => three).filter(
    (three) => three % 3 === block % 3 || three === block % KINDS,
  )

function bitsOf(threes: readonly number[]): Uint8Array {
  const bits = new Uint8Array(KINDS / 8)
  for (const three of threes) bits[three >> 3] = (bits[three >> 3] as number) | (1 << (three & 7))
  return bits
}

it('names the blocks that have all of the threes, in their order, however many there are', () => {
  const held = createHeldThrees(KINDS)
  expect([held.last(), held.count(), held.withAll([]), held.withAll([1])]).toEqual([0, 0, [], []])
  const blocks = Array.from({ length: 100 }, (_, block) => ({ id: 3 * block + 1, threes: threesOf(block) }))
  for (const [n, { id, threes }] of blocks.entries()) {
    held.add(id, bitsOf(threes))
    expect([held.last(), held.count()]).toEqual([id, n + 1])
    for (const wanted of [[], [0], [31], [63], [1, 4], [0, 32], [2, 5, 31], [0, 1, 2]])
      expect(held.withAll(wanted)).toEqual(
        blocks
          .slice(0, n + 1)
          .filter((block) => wanted.every((three) => block.threes.includes(three)))
          .map((block) => block.id),
      )
  }
})

it('names a block of which nothing is known whatever is asked for', () => {
  const held = createHeldThrees(KINDS)
  held.add(4, bitsOf([1]))
  held.add(5, new Uint8Array())
  held.add(6, bitsOf([2]))
  expect([held.withAll([1]), held.withAll([2]), held.withAll([1, 2])]).toEqual([[4, 5], [5, 6], [5]])
})
