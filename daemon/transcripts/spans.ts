/** Finds what stands between marks in a text and takes it out. Linear in the text, whatever it holds. */

export type Span = { start: number; end: number }
export type Marked = {
  closed: Span[]
  /** Marks that nothing closes. */
  unclosed: { name: string; start: number }[]
}

/**
 * The token is sticky, begins with `<` and has two groups: the slash of a closing mark, and the name. Each closing mark belongs
 * to the nearest open one of its name, so that marks may stand within marks.
 */
export function markedSpans(text: string, token: RegExp): Marked {
  const open = new Map<string, number[]>()
  const closed: Span[] = []
  let next = 0
  // From one `<` to the next: to try the token at every character of a long text takes as long as to parse it.
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', next)) {
    token.lastIndex = at
    const match = token.exec(text)
    next = match ? match.index + match[0].length : at + 1
    if (!match) continue
    const name = (match[2] ?? '').toLowerCase()
    const starts = open.get(name) ?? []
    open.set(name, starts)
    if (match[1] === '') {
      starts.push(match.index)
      continue
    }
    const start = starts.pop()
    if (start !== undefined) closed.push({ start, end: match.index + match[0].length })
  }
  const unclosed = [...open].flatMap(([name, starts]) => starts.map((start) => ({ name, start })))
  return { closed, unclosed }
}

/** The text without the spans, which may overlap; untouched when there are none. */
export function without(text: string, spans: readonly Span[]): string {
  return spans.length === 0 ? text : replaced(text, spans, '').trim()
}

/** The text with something else where the spans are, once for those that overlap. */
export function replaced(text: string, spans: readonly Span[], instead: string): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start >= from) parts.push(text.slice(from, start), instead)
    from = Math.max(from, end)
  }
  parts.push(text.slice(from))
  return parts.join('')
}
