/** Random tests print their seed, and run again with it: `SEED=123 npm test`. `given`: one that stays the same. */
export function seeded(name: string, given?: number): () => number {
  const seed = given ?? Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  if (given === undefined) console.info(`${name}: SEED=${seed}`)
  let state = seed
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
