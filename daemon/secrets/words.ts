/** Tells made-up names and prose from random characters. Does no I/O and knows nothing of credentials. */

const WORD = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g
const VOWELS = /[aeiouy]/gi

/** True for what people write: words joined by case, dashes, dots or a few digits. Random characters split into scraps. */
export function isWordy(value: string): boolean {
  const words = value.match(WORD) ?? []
  const letters = words.reduce((sum, word) => sum + word.length, 0)
  const digits = value.match(/\d/g)?.length ?? 0
  if (letters === 0 || digits * 4 > letters) return false
  // A name changes between letters and digits once or twice: `oauth2Token`, `v1beta2`.
  if ((value.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) > 3) return false
  const vowels = value.match(VOWELS)?.length ?? 0
  return letters / words.length >= 3.4 && vowels * 5 >= letters && !/[bcdfghjklmnpqrstvwxz]{5}/i.test(value)
}

/** Shannon entropy in bits per character. */
export function entropyBits(value: string): number {
  const counts = new Map<string, number>()
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [...counts.values()].reduce((bits, count) => bits - (count / total) * Math.log2(count / total), 0)
}
