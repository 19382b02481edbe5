/** Text as the full-text index takes it, and questions to it. Pure. */

/** Scripts written without spaces: the tokenizer would take a whole sentence for one word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+/gu
const WORDS = /[\p{L}\p{N}_]+/gu

/** Runs of such a script become overlapping pairs, so that any two characters of it can be found. */
export function indexable(text: string): string {
  return text.normalize('NFKC').replace(UNSPACED, (run) => ` ${pairs(run).join(' ')} `)
}

/** A question of plain words: nothing in it is an operator. Nothing when it has no word. */
export function wordsQuery(text: string, match: 'all' | 'any'): string | undefined {
  const words = [...text.normalize('NFKC').matchAll(WORDS)].flatMap(([word]) => phrases(word))
  if (words.length === 0) return undefined
  return words.map((word) => `"${word}"`).join(match === 'all' ? ' AND ' : ' OR ')
}

/** One word, or where scripts meet in it, each part; a run of pairs is a phrase. */
function phrases(word: string): string[] {
  return indexable(word).includes(' ')
    ? word
        .replace(UNSPACED, (run) => ` ${pairs(run).join('\n')} `)
        .split(' ')
        .filter((part) => part !== '')
        .map((part) => part.replaceAll('\n', ' '))
    : [word]
}

function pairs(run: string): string[] {
  const characters = [...run]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}
