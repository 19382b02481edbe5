/** How many tokens are in the context of a session, by what its answers used and an estimate of what came after. Pure. */

export type Weighed = { tokens: number | null }

/** Each block by itself, rounded up: four bytes a token, two where it is JSON. */
export function blockTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / (isJson(text) ? 2 : 4))
}

/** What is only estimated is counted a third higher. */
export function estimated(tokens: number): number {
  return Math.ceil((tokens * 4) / 3)
}

/** How many of the last messages came after the last answer that says what it used; all where none does. */
export function sinceUsage(messages: readonly Weighed[]): number {
  return messages.length - 1 - messages.findLastIndex(({ tokens }) => tokens !== null && tokens > 0)
}

/**
 * `later`: the estimate of what came after the last usage. `before`: what it was when the messages began. The least there
 * was in between is what growth is counted from: a harness that compacts begins again from little.
 */
export function contextTokens(messages: readonly Weighed[], later: number, before: number | undefined) {
  const used = messages.flatMap(({ tokens }) => (tokens !== null && tokens > 0 ? [tokens] : []))
  const last = used.at(-1)
  return {
    now: last === undefined ? (before ?? 0) + estimated(later) : last + later,
    least: used.reduce((least, tokens) => Math.min(least, tokens), before ?? Number.POSITIVE_INFINITY),
  }
}

function isJson(text: string): boolean {
  const trimmed = text.trim()
  if (!/^[[{]/.test(trimmed) || !/[\]}]$/.test(trimmed)) return false
  try {
    JSON.parse(trimmed)
    return true
  } catch {
    return false
  }
}
