/** Whether a prompt says enough to look for anything: more than one word, as people of its language count them. Pure. */

const segmenter = () => new Intl.Segmenter(undefined, { granularity: 'word' })
/** Two words are found in the beginning of anything. */
const LOOKED_AT_CHARS = 1_000

export function hasEnoughWords(query: string): boolean {
  let words = 0
  for (const { isWordLike } of segmenter().segment(query.slice(0, LOOKED_AT_CHARS)))
    if (isWordLike && ++words > 1) return true
  return false
}
