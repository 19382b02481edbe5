/** Measures several contenders in turns, so that a machine that grows busier or warmer does so for all of them. */
import type { Figure } from './row.ts'

/** One block of measurements, in ms. */
export type Block = () => Promise<number[]>

/** What each contender took, block by block. */
export type Rounds<C extends string> = Record<C, number[][]>

/** Every second round runs backwards: none always comes after the same neighbour. */
export async function inRounds<C extends string>(count: number, contenders: Record<C, Block>): Promise<Rounds<C>> {
  const entries = Object.entries(contenders) as [C, Block][]
  const taken = Object.fromEntries(entries.map(([name]) => [name, []])) as unknown as Rounds<C>
  for (let round = 0; round < count; round++)
    for (const [name, block] of round % 2 === 0 ? entries : entries.toReversed()) taken[name].push(await block())
  return taken
}

/**
 * The middle of what the rounds tell, one by one: what is compared within a round was measured side by side, so a disk that
 * changes its pace from one to the next does so for both. A tail needs more than a round has: there all count together.
 */
export function ratio(ours: number[][], yardstick: number[][], share: number): Figure {
  const each = ours.map((block, round) => quantile(block, share) / quantile(yardstick[round] ?? [], share))
  const together = quantile(ours.flat(), share) / quantile(yardstick.flat(), share)
  return { value: share === 0.5 ? quantile(each, 0.5) : together, middle: [quantile(each, 0.25), quantile(each, 0.75)] }
}

export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('nothing was measured')
  const sorted = values.toSorted((a, b) => a - b)
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)] as number
  const above = sorted[Math.ceil(at)] as number
  return below + (above - below) * (at - Math.floor(at))
}
