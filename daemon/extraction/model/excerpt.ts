/** The words of a message that a memory is made of, for whoever asks why it is there. Pure, and bounded. */
import { formsOf } from './voices.ts'
import { wordsIn } from './words.ts'

const EXCERPT_UNITS = 500
/** Of a long message its ends are looked at: what a person says of a text stands before or after it. */
const LOOKED_UNITS = 64 * 1024
const CAP_PIECES = 400

/** `content`: what the memory is about. */
export function excerptOf(text: string, content: ReadonlySet<string>): string {
  const whole = text.trim()
  if (whole.length <= EXCERPT_UNITS) return whole
  const half = LOOKED_UNITS / 2
  const looked = whole.length <= LOOKED_UNITS ? whole : `${whole.slice(0, half)}\n${whole.slice(-half)}`
  const all = looked.split(/(?<=[.!?。！？])\s+|\n+/).filter((piece) => piece.trim() !== '')
  const pieces = all.length <= CAP_PIECES ? all : [...all.slice(0, CAP_PIECES / 2), ...all.slice(-CAP_PIECES / 2)]
  let best = { piece: whole, shared: 0 }
  for (const piece of pieces) {
    const shared = [...formsOf(wordsIn(piece.slice(0, EXCERPT_UNITS)))].filter((word) => content.has(word)).length
    if (shared > best.shared) best = { piece, shared }
  }
  return best.piece.trim().slice(0, EXCERPT_UNITS)
}

export function aboutOf(content: string): ReadonlySet<string> {
  return formsOf(wordsIn(content))
}
