/** What words are worth: one in a memory, and one at all. Pure. */

/** Chosen by measurement; results hardly change around them. */
const K1 = 1.1
const B = 0.4
const DELTA = 0.6

/** BM25+: more of the same word says less and less, most of all in a long text; to have it at all says something. */
export function saturated(times: number, longer: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + B * longer)) + DELTA
}

/** Of what is nowhere, a little more than of what is in one memory alone. */
export function rarity(holders: number, memories: number): number {
  return Math.log(1 + (memories - holders + 0.5) / (holders + 0.5))
}
