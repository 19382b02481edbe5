/** English words without their endings, after Porter's rules: `renewing`, `renewed` and `renews` are one term. Pure. */

const VOWEL = /[aeiouy]/
/** Beginning, then a vowel and a consonant: what is left must be a word, not a syllable of one. */
const MEASURE_0 = /^[^aeiouy]*[aeiouy]+[^aeiouy]/
const MEASURE_1 = /^[^aeiouy]*[aeiouy]+[^aeiouy]+[aeiouy]+[^aeiouy]/
const DOUBLE = /([^aeiouylsz])\1$/
const SHORT_END = /[^aeiouy][aeiouy][^aeiouywx]$/

/** Ending → what stands in its place, where a whole word is left before it; the longest that fits is taken. */
const LONG_ENDINGS: Record<string, string> = {
  ational: 'ate',
  tional: 'tion',
  enci: 'ence',
  anci: 'ance',
  izer: 'ize',
  abli: 'able',
  alli: 'al',
  entli: 'ent',
  eli: 'e',
  ousli: 'ous',
  ization: 'ize',
  ation: 'ate',
  ator: 'ate',
  alism: 'al',
  iveness: 'ive',
  fulness: 'ful',
  ousness: 'ous',
  aliti: 'al',
  iviti: 'ive',
  biliti: 'ble',
  icate: 'ic',
  ative: '',
  alize: 'al',
  iciti: 'ic',
  ical: 'ic',
  ful: '',
  ness: '',
}

const LAST_ENDINGS = [
  'ement',
  'ance',
  'ence',
  'able',
  'ible',
  'ment',
  'ant',
  'ent',
  'ion',
  'ism',
  'ate',
  'iti',
  'ous',
  'ive',
  'ize',
  'al',
  'er',
  'ic',
]

const SHORTEST = 4
const LONGEST = 30
const PLAIN = /^[a-z]+$/

/** Whatever is no plain English word stays as it is. */
export function stem(word: string): string {
  if (word.length < SHORTEST || word.length > LONGEST || !PLAIN.test(word)) return word
  // After a vowel a y is no vowel: `deploy` has two syllables, and so much is left of `deployment`.
  const marked = word.replace(/([aeiou])y/g, '$1Y')
  const noTense = withoutTense(withoutPlural(marked))
  const soft = noTense.endsWith('y') && VOWEL.test(noTense.slice(0, -1)) ? `${noTense.slice(0, -1)}i` : noTense
  const short = withoutLast(shortened(shortened(soft)))
  return withoutSilentE(short).toLowerCase()
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1)
  if (word.endsWith('ss') || word.endsWith('us') || !word.endsWith('s')) return word
  return word.slice(0, -1)
}

function withoutTense(word: string): string {
  if (word.endsWith('eed')) return MEASURE_0.test(word.slice(0, -3)) ? word.slice(0, -1) : word
  const ending = word.endsWith('ed') ? 2 : word.endsWith('ing') ? 3 : 0
  const left = word.slice(0, word.length - ending)
  if (ending === 0 || left.length < 2 || !VOWEL.test(left)) return word
  if (/(?:at|bl|iz)$/.test(left)) return `${left}e`
  if (DOUBLE.test(left)) return left.slice(0, -1)
  return !MEASURE_1.test(left) && MEASURE_0.test(left) && SHORT_END.test(left) ? `${left}e` : left
}

function shortened(word: string): string {
  for (let length = Math.min(7, word.length - 2); length >= 3; length--) {
    const replaced = LONG_ENDINGS[word.slice(-length)]
    if (replaced === undefined) continue
    const left = word.slice(0, -length)
    return MEASURE_0.test(left) ? left + replaced : word
  }
  return word
}

function withoutLast(word: string): string {
  for (const ending of LAST_ENDINGS) {
    if (!word.endsWith(ending)) continue
    const left = word.slice(0, -ending.length)
    if (!MEASURE_1.test(left)) return word
    return ending === 'ion' && !/[st]$/.test(left) ? word : left
  }
  return word
}

function withoutSilentE(word: string): string {
  if (word.endsWith('e')) {
    const left = word.slice(0, -1)
    if (MEASURE_1.test(left) || (MEASURE_0.test(left) && !SHORT_END.test(left))) return left
  }
  return word.endsWith('ll') && MEASURE_1.test(word) ? word.slice(0, -1) : word
}
