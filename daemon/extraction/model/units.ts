/** A memory in the pieces that are judged each for itself: what it is called, its description, every sentence. Pure. */
import { plainText } from './words.ts'

/** `label`: what a memory is called, which may say nothing. `code`: stands for itself, to the letter. */
export type Unit = { kind: 'label' | 'sentence' | 'code'; text: string }

/** What is read of the text of a memory. `rest`: whatever else stands before its body. */
export type Memory = {
  text: string
  name: string
  description: string
  body: string
  rest: string
  type: 'user' | 'feedback' | 'project' | 'reference' | undefined
  untrusted: boolean
}

const LABELS = /\*\*(?:why|how to apply)\s*[:：]?\s*\*\*\s*[:：]?|^\s*(?:why|how to apply)\s*[:：]/gi
const MARKS = /^[\s>]*(?:#{1,6}\s|[-*+]\s(?:\[[ x]\]\s)?|\d{1,2}[.)]\s)?/
const ENDS = /(?<=[.!?…]["')\]]?)\s+(?=\S)|(?<=[。！？；])/

export function unitsOf({
  name,
  description,
  body,
  rest,
}: Pick<Memory, 'name' | 'description' | 'body' | 'rest'>): Unit[] {
  return [
    { kind: 'label' as const, text: name },
    ...sentences(description),
    ...sentences(rest),
    ...sentences(body),
  ].filter(({ text }) => /[\p{L}\p{N}]/u.test(text))
}

/** Those that were not there before. */
export function addedUnits(before: Memory, after: Memory): Unit[] {
  const known = new Set(unitsOf(before).map(keyOf))
  return unitsOf(after).filter((unit) => !known.has(keyOf(unit)))
}

export function removedUnits(before: Memory, after: Memory): Unit[] {
  return addedUnits(after, before)
}

function keyOf({ text }: Unit): string {
  return plainText(text).replace(/\s+/g, ' ').trim()
}

/** Without the lines that say how to apply it, but for those that stood there before. */
export function withoutGuess(text: string, before: string): string {
  const known = new Set(before.split('\n'))
  const isGuess = (line: string) => /^\s*\*\*how to apply\b/i.test(line) && !known.has(line)
  const lines = text.split('\n')
  return lines.some(isGuess)
    ? lines.filter((line, n) => !isGuess(line) && !(line.trim() === '' && isGuess(lines[n + 1] ?? ''))).join('\n')
    : text
}

export function sentences(text: string): Unit[] {
  const units: Unit[] = []
  let inFence = false
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      inFence = !inFence
      const info = line.replace(/^\s*(?:`+|~+)\s*/, '')
      // What stands behind the mark names a language, and can be made to say more.
      if (/\s/.test(info.trim())) units.push({ kind: 'sentence', text: info })
    } else if (inFence) units.push({ kind: 'code', text: line })
    else
      for (const sentence of line.replace(MARKS, '').replace(LABELS, ' ').split(ENDS))
        units.push({ kind: 'sentence', text: sentence.trim() })
  }
  return units
}
