/** What a rejected memory is recognised by, however it is written: its normalised value. Pure. */
import { hash } from 'node:crypto'

/** Shorter paragraphs say too little: rejecting one would reject half of everything. */
const SHORTEST_VALUE = 12

/** Formatting characters, variation selectors, and letters that show nothing, such as Hangul fillers. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/** Compatibility forms, case, white space, punctuation and invisible characters make no difference to what is said. */
export function normaliseValue(text: string): string {
  return (
    text
      .normalize('NFKC')
      .replace(INVISIBLE, '')
      .normalize('NFKC')
      .toLowerCase()
      // ß and the final sigma have no single lower case: by way of the upper case they meet.
      .toUpperCase()
      .toLowerCase()
      .replace(/[\p{P}\p{S}\p{Z}\p{C}\s]+/gu, ' ')
      .trim()
  )
}

/** The whole text and each of its paragraphs, lines and list items, as hashes. */
export function valuesOf(...texts: string[]): string[] {
  const values = new Set<string>()
  for (const text of texts)
    for (const part of [text, ...text.split(/\r?\n[^\S\r\n]*\r?\n/), ...text.split(/\r?\n/)]) {
      const value = normaliseValue(withoutMark(part))
      if (value.length >= SHORTEST_VALUE) values.add(digest(value))
    }
  return [...values]
}

/** A whole text as one value, however short. */
export function wholeValue(text: string): string[] {
  const value = normaliseValue(text)
  return value === '' ? [] : [digest(value)]
}

function digest(value: string): string {
  return hash('sha256', value)
}

/** `- `, `3. `, `> `, `**Why:** ` and the like: the same thing said as a list item, a quote or under a label. */
function withoutMark(text: string): string {
  return text
    .replace(/^\s*(?:(?:[-*+>]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+)*/, '')
    .replace(/^\*\*[^*\n]{1,40}:\*\*\s*/, '')
}
