/** One line of a text around the first hit, with the places of all hits in it. Pure. */

export type Snippet = { snippet: string; hits: { from: number; to: number }[] }

const BEFORE_CHARS = 60
const SNIPPET_CHARS = 240

type Asked = { words: readonly string[]; literals: readonly string[] }

export function snippetOf(text: string, asked: Asked): Snippet {
  const all = hitsIn(text, asked)
  const from = whole(text, Math.max(0, (all[0]?.from ?? 0) - BEFORE_CHARS))
  const to = whole(text, Math.min(text.length, from + SNIPPET_CHARS))
  const before = from > 0 ? '…' : ''
  // Character for character, so that hits stay where they are.
  const snippet = `${before}${text.slice(from, to).replace(/\s/g, ' ')}${to < text.length ? '…' : ''}`
  const moved = before.length - from
  const hits = all
    .filter((hit) => hit.from < to)
    .map((hit) => ({ from: hit.from + moved, to: Math.min(hit.to, to) + moved }))
  return { snippet, hits }
}

function hitsIn(text: string, { words, literals }: Asked): Snippet['hits'] {
  const patterns = [
    ...literals.map((literal) => new RegExp(escaped(literal), 'g')),
    ...words
      .flatMap((word) => word.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])
      .map((word) => new RegExp(escaped(word), 'giu')),
  ]
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
