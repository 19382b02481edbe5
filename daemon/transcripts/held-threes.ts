/**
 * Of many blocks, which threes of characters may stand in them, turned round: of each three, in which blocks. To ask for a few
 * threes takes a look at a few numbers, not at every block. Knows bits, not terms.
 */
export type HeldThrees = {
  /** The block's id, above those before it, and a bit for each three; none where nothing is known of the block. */
  add(id: number, bits: Uint8Array): void
  count(): number
  /** The id of the last; 0 before the first. */
  last(): number
  /** Ids of blocks that may have all of the threes, in the order in which they were added. */
  withAll(threes: readonly number[]): number[]
}

/** As many as a number has bits. */
const GROUP_BLOCKS = 32

export function createHeldThrees(kinds: number): HeldThrees {
  const ids: number[] = []
  /** Each of 32 blocks: for every three a number, a bit of which is a block. */
  const groups: Int32Array[] = []
  return {
    add: (id, bits) => {
      const at = ids.push(id) - 1
      if (at % GROUP_BLOCKS === 0) groups.push(new Int32Array(kinds))
      const group = groups.at(-1) as Int32Array
      const mask = 1 << (at % GROUP_BLOCKS)
      for (let three = 0; three < kinds; three += 8) {
        // From one set bit to the next: most are not set, and a gigabyte has thirty million of them.
        for (let left = bits.length === 0 ? 0xff : (bits[three >> 3] as number); left !== 0; left &= left - 1) {
          const set = three + lowestOf(left)
          group[set] = (group[set] as number) | mask
        }
      }
    },
    count: () => ids.length,
    last: () => ids.at(-1) ?? 0,
    withAll: (threes) => {
      const found: number[] = []
      for (const [n, group] of groups.entries()) {
        let left = -1
        for (let at = 0; at < threes.length && left !== 0; at++) left &= group[threes[at] as number] as number
        for (; left !== 0; left &= left - 1) {
          // Without a three all bits are set, also those of blocks that are still to come.
          const id = ids[n * GROUP_BLOCKS + lowestOf(left)]
          if (id !== undefined) found.push(id)
        }
      }
      return found
    },
  }
}

/** The place of the lowest bit that is set. */
function lowestOf(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
