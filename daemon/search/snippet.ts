/** One line of a text around the first hit, with the places of all hits in it. Pure. */

export type Snippet = { snippet: string; hits: { from: number; to: number }[] }

const BEFORE_CHARS = 60
const SNIPPET_CHARS = 240

type Asked = { words: readonly string[]; literals: readonly string[] }

/** Made once for all texts in which the same is asked for. */
export function snippetsOf(asked: Asked): (text: string) => Snippet {
  const patterns = patternsOf(asked)
  /** Of something that was asked for, in whatever case, no hit is longer. */
  const longest = 2 * Math.max(0, ...[...asked.words, ...asked.literals].map(({ length }) => length))
  return (text) => {
    const from = whole(text, Math.max(0, firstIn(text, patterns) - BEFORE_CHARS))
    const to = whole(text, Math.min(text.length, from + SNIPPET_CHARS))
    const before = from > 0 ? '…' : ''
    // Character for character, so that hits stay where they are.
    const snippet = `${before}${text.slice(from, to).replace(/\s/g, ' ')}${to < text.length ? '…' : ''}`
    const hits = hitsIn(text.slice(from, to + longest), patterns)
      .filter((hit) => hit.from < to - from)
      .map((hit) => ({ from: hit.from + before.length, to: Math.min(hit.to, to - from) + before.length }))
    return { snippet, hits }
  }
}

function patternsOf({ words, literals }: Asked): RegExp[] {
  return [
    ...literals.map((literal) => new RegExp(escaped(literal), 'g')),
    ...words
      .flatMap((word) => word.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])
      .map((word) => new RegExp(escaped(word), 'giu')),
  ]
}

/** Where the first hit begins; where there is none, as if it were at the beginning. */
function firstIn(text: string, patterns: readonly RegExp[]): number {
  const all = patterns.map((pattern) => text.search(pattern)).filter((at) => at !== -1)
  return all.length === 0 ? 0 : Math.min(...all)
}

function hitsIn(text: string, patterns: readonly RegExp[]): Snippet['hits'] {
  const found = patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ 0: hit, index }) => ({ from: index, to: index + hit.length })),
  )
  return apart(found.sort((a, b) => a.from - b.from || b.to - a.to))
}

/** Of hits that overlap the first is enough. */
function apart(sorted: Snippet['hits']): Snippet['hits'] {
  const kept: Snippet['hits'] = []
  for (const hit of sorted) if (hit.from >= (kept.at(-1)?.to ?? 0)) kept.push(hit)
  return kept
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/** Never half of a character. */
function whole(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text[at] ?? '') && at > 0 ? at - 1 : at
}
