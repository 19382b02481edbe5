/** The phrases by which a purged text is recognised where it was quoted, or where nothing but bytes can be read. Pure. */

/** Shorter ones stand everywhere. */
const SHORTEST_CHARS = 12
/** A database parts a long text over pages: some pieces of it stand in one of them. */
const PIECE_CHARS = 40
/** A text of a thousand lines is recognised by every third. */
const MOST_PHRASES = 300

/** `- `, `3. `, `> `, `**Why:** `, `description: "`: a phrase is what stands behind it. */
const MARK = /^\s*(?:(?:[-*+>]|\d{1,3}[.)]|#{1,6})\s+)*(?:\*\*[^*]{1,40}:\*\*\s*|[a-z][\w-]{0,40}:\s+["']?)?/i

export function phrasesOf(text: string): string[] {
  const lines = text.split(/\r?\n/).map((line) => line.replace(MARK, '').replace(/["']?\s*$/, ''))
  const phrases = lines.flatMap(pieces).filter((piece) => piece.length >= SHORTEST_CHARS)
  return phrases.length > 0 || text.trim() === '' ? phrases : [text]
}

/** Those of texts that go and of none that stays: a line that half of all memories have gives nothing away. */
export function distinctPhrases(going: Iterable<string>, staying: Iterable<string>): string[] {
  const phrases = new Set([...going].flatMap(phrasesOf))
  for (const text of staying) for (const phrase of phrasesOf(text)) phrases.delete(phrase)
  const step = Math.max(1, phrases.size / MOST_PHRASES)
  return [...phrases].filter((_phrase, n) => Math.floor(n / step) !== Math.floor((n - 1) / step))
}

function pieces(line: string): string[] {
  const chars = [...line]
  const starts = Array.from({ length: Math.ceil(chars.length / PIECE_CHARS) }, (_, n) => n * PIECE_CHARS)
  return starts.map((start) => chars.slice(start, start + PIECE_CHARS).join(''))
}
