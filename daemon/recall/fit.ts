/** How much of a question a memory answers to: what of it was found, measured by how much each word tells. Pure. */
import type { Wanted } from './question.ts'

/** A word that nobody ever wrote: often only another word for what was written. A name has no other. */
const UNKNOWN = 0.8
const UNKNOWN_NAME = 3
/** One word of several is shared by chance. */
const LONE = 0.6
const LONE_AMONG = 2
/** A long question is about some of its words only. */
const MOST_COUNTED = 12

/** `sure`, from `row` on, tells of each thing wanted how sure it is that it is there. */
export function fitOf(sure: Float64Array, row: number, wanted: readonly Wanted[]): number {
  let all = 0
  let covered = 0
  let met = 0
  let missed = 0
  for (let n = 0; n < wanted.length; n++) {
    const want = wanted[n] as Wanted
    if (want.extra) continue
    const weight = weightOf(want)
    const certainty = sure[row + n] as number
    all += weight
    covered += weight * certainty
    if (want.common) continue
    if (certainty > 0) met++
    else missed++
  }
  if (wanted.length > MOST_COUNTED) all = heaviest(wanted)
  if (all === 0) return 0
  return Math.min(1, covered / all) * (met <= 1 && missed >= LONE_AMONG ? LONE : 1)
}

function heaviest(wanted: readonly Wanted[]): number {
  const weights = wanted.filter(({ extra }) => !extra).map(weightOf)
  return weights
    .sort((a, b) => b - a)
    .slice(0, MOST_COUNTED)
    .reduce((sum, weight) => sum + weight, 0)
}

function weightOf({ weight, alternatives, named }: Wanted): number {
  return weight * (alternatives.length > 0 ? 1 : named ? UNKNOWN_NAME : UNKNOWN)
}
