/** Looks for words in every byte of every file of a folder. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `folder/file: word` for every word that stands somewhere, whatever its case. */
export function traces(folder: string, words: readonly string[]): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.flatMap(({ parentPath, name }) => {
    const path = join(parentPath, name)
    const bytes = lowerCase(readFileSync(path))
    return words.filter((word) => bytes.includes(lowerCase(Buffer.from(word)))).map((word) => `${path}: ${word}`)
  })
}

/** The words that stand nowhere: a test that finds all of them gone must have seen them all there. */
export function missing(folder: string, words: readonly string[]): string[] {
  const found = traces(folder, words)
  return words.filter((word) => !found.some((trace) => trace.endsWith(`: ${word}`)))
}

function lowerCase(bytes: Buffer): Buffer {
  return Buffer.from(
    bytes.toString('latin1').replace(/[A-Z]/g, (letter) => letter.toLowerCase()),
    'latin1',
  )
}
