/** Looks for words in every byte of every file of a folder. */
import { filesAtRest } from './at-rest.ts'

/** `folder/file: word` for every word that stands somewhere, whatever its case. */
export function traces(folder: string, words: readonly string[]): string[] {
  const small = words.map((word) => ({ word, bytes: lowerCase(Buffer.from(word)) }))
  return filesAtRest(folder).flatMap(({ path, bytes }) => {
    const text = lowerCase(bytes)
    return small.filter((each) => text.includes(each.bytes)).map(({ word }) => `${path}: ${word}`)
  })
}

/** The words that stand nowhere: a test that finds all of them gone must have seen them all there. */
export function missing(folder: string, words: readonly string[]): string[] {
  const found = traces(folder, words)
  return words.filter((word) => !found.some((trace) => trace.endsWith(`: ${word}`)))
}

function lowerCase(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').toLowerCase(), 'latin1')
}
