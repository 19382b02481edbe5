/** One line of a text around the first hit, with the places of all hits in it. Pure. */

type Hit = { from: number; to: number }
export type Snippet = { snippet: string; hits: Hit[] }

const BEFORE_CHARS = 60
const SNIPPET_CHARS = 240

type Asked = { words: readonly string[]; literals: readonly string[] }

/** The next hit from a place on. */
type Look = (text: string, from: number) => Hit | undefined

/** Made once for all texts in which the same is asked for. */
export function snippetsOf(asked: Asked): (text: string) => Snippet {
  const looks = [...asked.literals.filter(Boolean).map(forLiteral), ...asked.words.flatMap(forWord)]
  /** Of something that was asked for, in whatever case, no hit is longer. */
  const longest = 2 * Math.max(0, ...[...asked.words, ...asked.literals].map(({ length }) => length))
  return (text) => {
    const from = whole(text, Math.max(0, firstIn(text, looks) - BEFORE_CHARS))
    const to = whole(text, Math.min(text.length, from + SNIPPET_CHARS))
    const before = from > 0 ? '…' : ''
    // Character for character, so that hits stay where they are. Most white space is what it is to become.
    const snippet = `${before}${text.slice(from, to).replace(/[^\S ]/g, ' ')}${to < text.length ? '…' : ''}`
    const hits: Hit[] = []
    for (const hit of hitsIn(text.slice(from, to + longest), looks))
      if (hit.from < to - from)
        hits.push({ from: hit.from + before.length, to: Math.min(hit.to, to - from) + before.length })
    return { snippet, hits }
  }
}

function forLiteral(literal: string): Look {
  return (text, from) => {
    const at = text.indexOf(literal, from)
    return at === -1 ? undefined : { from: at, to: at + literal.length }
  }
}

/** A word as somebody types it may hold several. */
function forWord(typed: string): Look[] {
  return (typed.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => {
    const pattern = new RegExp(word, 'giu')
    return (text, from) => {
      pattern.lastIndex = from
      const hit = pattern.exec(text)
      return hit ? { from: hit.index, to: hit.index + hit[0].length } : undefined
    }
  })
}

/** Where the first hit begins; where there is none, as if it were at the beginning. */
function firstIn(text: string, looks: readonly Look[]): number {
  let first = text.length
  for (const look of looks) first = Math.min(first, look(text, 0)?.from ?? first)
  return first === text.length ? 0 : first
}

function hitsIn(text: string, looks: readonly Look[]): Hit[] {
  const found: Hit[] = []
  for (const look of looks) for (let hit = look(text, 0); hit; hit = look(text, hit.to)) found.push(hit)
  return apart(found.sort((a, b) => a.from - b.from || b.to - a.to))
}

/** Of hits that overlap the first is enough. */
function apart(sorted: readonly Hit[]): Hit[] {
  const kept: Hit[] = []
  for (const hit of sorted) if (hit.from >= (kept.at(-1)?.to ?? 0)) kept.push(hit)
  return kept
}

/** Never half of a character. */
function whole(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && at > 0 ? at - 1 : at
}
