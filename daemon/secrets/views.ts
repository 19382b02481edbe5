/**
 * A text as its readers will see it: JSON, URL and HTML escapes undone, once per layer. Credentials travel in logs of
 * JSON inside JSON, where `\n` parts the lines of a key and `%2B` the characters of a token. Each view remembers where
 * its characters came from, so that a finding is reported in the original text.
 */

export type View = { text: string; originAt: (index: number) => number }

/** JSON in JSON in a URL. Deeper nesting is nothing that programs write by accident. */
const MAX_LAYERS = 3

const ESCAPE =
  /%[0-9A-Fa-f]{2}|\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbf"'\\/])|&(?:quot|amp|apos|lt|gt|#\d{2,5}|#x[0-9A-Fa-f]{2,4});/g

export function asItIs(text: string): View {
  return { text, originAt: (index) => index }
}

/** The text itself first, then one view per layer of escapes that it holds. */
export function viewsOf(text: string): View[] {
  const views: View[] = [asItIs(text)]
  while (views.length <= MAX_LAYERS) {
    const last = views.at(-1)
    const next = last && unescaped(last)
    if (!next) break
    views.push(next)
  }
  return views
}

function unescaped({ text, originAt }: View): View | undefined {
  const parts: string[] = []
  // Per escape: where it stands in the new text, and how far the old text is ahead from there on.
  const positions: number[] = []
  const leads: number[] = []
  let copied = 0
  let length = 0
  for (const match of text.matchAll(ESCAPE)) {
    const char = characterOf(match[0])
    if (char === undefined) continue
    parts.push(text.slice(copied, match.index), char)
    length += match.index - copied + char.length
    copied = match.index + match[0].length
    positions.push(length)
    leads.push(copied - length)
  }
  if (positions.length === 0) return undefined
  parts.push(text.slice(copied))
  return { text: parts.join(''), originAt: (index) => originAt(index + leadAt(index, positions, leads)) }
}

/** The lead of the last escape that ends at or before the index; by bisection. */
function leadAt(index: number, positions: number[], leads: number[]): number {
  let low = 0
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((positions[middle] ?? 0) <= index) low = middle + 1
    else high = middle
  }
  return leads[low - 1] ?? 0
}

const NAMED: Record<string, string> = { quot: '"', amp: '&', apos: "'", lt: '<', gt: '>' }
const LETTERS: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: ' ', f: ' ' }

/** Undefined for bytes of a longer UTF-8 sequence and for control characters: they part no credential. */
function characterOf(written: string): string | undefined {
  const [first, second = ''] = written
  if (first === '%') return printable(Number.parseInt(written.slice(1), 16))
  if (first === '\\') {
    if (second === 'u' || second === 'x') return printable(Number.parseInt(written.slice(2), 16))
    return LETTERS[second] ?? second
  }
  const name = written.slice(1, -1)
  if (name.startsWith('#x')) return printable(Number.parseInt(name.slice(2), 16))
  return NAMED[name] ?? printable(Number.parseInt(name.slice(1), 10))
}

function printable(code: number): string | undefined {
  if (code === 9 || code === 10 || code === 13) return String.fromCharCode(code)
  return code >= 0x20 && code !== 0x7f && (code < 0x7f || code > 0x9f) && code < 0xd800
    ? String.fromCharCode(code)
    : undefined
}
