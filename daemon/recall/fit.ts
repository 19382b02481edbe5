/** How much of a question a memory answers to: what of it was found, measured by how much each word tells. Pure. */
import type { Wanted } from './question.ts'
import type { Scored } from './scoring.ts'

/** A word that nobody ever wrote: often only another word for what was written. A name has no other. */
const UNKNOWN = 0.8
const UNKNOWN_NAME = 3
/** One word of several is shared by chance. */
const LONE = 0.6
const LONE_AMONG = 2
/** A long question is about some of its words only. */
const MOST_COUNTED = 12

export function fitOf({ sure }: Pick<Scored, 'sure'>, wanted: readonly Wanted[]): number {
  const weights: number[] = []
  let covered = 0
  let met = 0
  let missed = 0
  wanted.forEach((want, n) => {
    if (want.extra) return
    const weight = want.weight * (want.alternatives.length > 0 ? 1 : want.named ? UNKNOWN_NAME : UNKNOWN)
    weights.push(weight)
    covered += weight * (sure[n] as number)
    if (want.common) return
    if ((sure[n] as number) > 0) met++
    else missed++
  })
  const heaviest = weights.sort((a, b) => b - a).slice(0, MOST_COUNTED)
  const all = heaviest.reduce((sum, weight) => sum + weight, 0)
  if (all === 0) return 0
  return Math.min(1, covered / all) * (met <= 1 && missed >= LONE_AMONG ? LONE : 1)
}
