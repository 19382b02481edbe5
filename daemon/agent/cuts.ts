/** What is left out of a message when it is told to a model, decided once for each. Pure. */

/** From here to there, in characters, and what is said in its place. */
export type Cut = { from: number; to: number; says: string }
/** By the number of the part: the text, then each call, then each result. Parts without a cut are left out. */
export type Cuts = Record<number, Cut[]>

export type Part = { kind: 'text' | 'call' | 'result'; text: string }

/** How much of the head and the tail of each stays. */
const KEPT = {
  text: { chars: 24_000, head: 20_000, tail: 3_000 },
  call: { chars: 1_600, head: 1_000, tail: 300 },
  result: { chars: 1_600, head: 1_000, tail: 300 },
} as const

/** Pictures and archives in the form of text: no model reads them, and one is longer than a session. */
const ENCODED = /(?:data:[\w/+.-]{1,100};base64,)?[A-Za-z0-9+/]{600,}={0,2}/g

export function decideCuts(parts: readonly Part[]): Cuts {
  const cuts: Cuts = {}
  for (const [n, part] of parts.entries()) {
    const found = cutsOf(part)
    if (found.length > 0) cuts[n] = found
  }
  return cuts
}

function cutsOf({ kind, text }: Part): Cut[] {
  const encoded = [...text.matchAll(ENCODED)].map(({ index, 0: all }) => ({
    from: index,
    to: index + all.length,
    says: `[${all.startsWith('data:image/') ? 'image' : 'encoded data'} left out: ${all.length} characters]`,
  }))
  const rest = text.length - encoded.reduce((sum, { from, to }) => sum + to - from, 0)
  const { chars, head, tail } = KEPT[kind]
  if (rest <= chars) return encoded
  const from = whole(text, head)
  const to = whole(text, text.length - tail)
  const middle = { from, to, says: `[… ${to - from} characters left out …]` }
  // What lies in the middle goes with it; what reaches into it makes it longer.
  return encoded.reduce<Cut[]>(
    ([wide = middle, ...others], cut) => {
      if (cut.to <= wide.from || cut.from >= wide.to) return [wide, ...others, cut]
      const joined = { from: Math.min(wide.from, cut.from), to: Math.max(wide.to, cut.to) }
      return [{ ...joined, says: `[… ${joined.to - joined.from} characters left out …]` }, ...others]
    },
    [middle],
  )
}

/** Not between the halves of one character. */
function whole(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at + 1 : at
}

export function applyCuts(text: string, cuts: readonly Cut[] = []): string {
  let shown = ''
  let at = 0
  for (const { from, to, says } of cuts.toSorted((a, b) => a.from - b.from)) {
    shown += text.slice(at, from) + says
    at = to
  }
  return shown + text.slice(at)
}
