/** Tells the prose of a markdown text from its code: fenced blocks and code spans. Linear in the text, does no I/O. */

/**
 * The text with every code block dropped and every code span a space. Blocks that are code only by indentation stay: in
 * nested lists the same indentation is prose.
 */
export function withoutCode(text: string): string {
  const kept: string[] = []
  let paragraph: string[] = []
  let fence: Fence | undefined
  const endParagraph = () => {
    if (paragraph.length > 0) kept.push(withoutSpans(paragraph.join('\n')))
    paragraph = []
  }
  for (const line of text.split('\n')) {
    if (fence) {
      const { quotes, at } = skipQuotes(line, fence.quotes)
      if (quotes === fence.quotes) {
        if (closes(line.slice(at), fence)) fence = undefined
        continue
      }
      // Only a quotation can end before the fence in it does.
      fence = undefined
    }
    const { quotes, at, item } = skipMarkers(line)
    const rest = line.slice(at)
    fence = opens(rest, quotes)
    // A code span ends with its paragraph.
    if (fence || item || rest.trim() === '' || rest.startsWith('#')) endParagraph()
    if (!fence) paragraph.push(line)
    if (rest.startsWith('#')) endParagraph()
  }
  endParagraph()
  return kept.join('\n')
}

type Fence = { char: string; length: number; quotes: number }

function opens(rest: string, quotes: number): Fence | undefined {
  const char = rest[0]
  if (char !== '`' && char !== '~') return undefined
  const length = runLength(rest, 0)
  if (length < 3) return undefined
  // Three backticks and their like again on the same line are a code span.
  if (char === '`' && rest.includes('`', length)) return undefined
  return { char, length, quotes }
}

function closes(rest: string, fence: Fence): boolean {
  if (rest[0] !== fence.char) return false
  const length = runLength(rest, 0)
  return length >= fence.length && rest.slice(length).trim() === ''
}

function skipQuotes(line: string, most: number): { quotes: number; at: number } {
  let quotes = 0
  let at = 0
  for (; at < line.length; at++) {
    if (line[at] === '>' && quotes < most) quotes++
    else if (line[at] !== ' ' && line[at] !== '\t') break
  }
  return { quotes, at }
}

/** Past indentation, quotation marks and list markers: a fence may stand behind any of them. */
function skipMarkers(line: string): { quotes: number; at: number; item: boolean } {
  const marker = /(?:[-*+]|\d{1,9}[.)])[ \t]/y
  let quotes = 0
  let item = false
  let at = 0
  while (at < line.length) {
    marker.lastIndex = at
    if (line[at] === '>') quotes++
    else if (marker.test(line)) {
      item = true
      at = marker.lastIndex
      continue
    } else if (line[at] !== ' ' && line[at] !== '\t') break
    at++
  }
  return { quotes, at, item }
}

type Run = { start: number; end: number }

/** A run of backticks opens a span that the next run of the same length closes; one without such a partner is text. */
function withoutSpans(paragraph: string): string {
  const runs = backtickRuns(paragraph)
  const nextOf = partnerFinder(runs)
  const kept: string[] = []
  let from = 0
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i] as Run
    // A backslash takes the first backtick away from an opening run, not from a closing one.
    const start = isEscaped(paragraph, run.start) ? run.start + 1 : run.start
    const partner = nextOf(run.end - start, i)
    if (partner === undefined) continue
    kept.push(paragraph.slice(from, start), ' ')
    from = (runs[partner] as Run).end
    i = partner
  }
  kept.push(paragraph.slice(from))
  return kept.join('')
}

function backtickRuns(text: string): Run[] {
  const runs: Run[] = []
  for (let start = text.indexOf('`'); start >= 0; ) {
    const end = start + runLength(text, start)
    runs.push({ start, end })
    start = text.indexOf('`', end)
  }
  return runs
}

/** Asked for ever later runs, it walks each list of equal runs once. */
function partnerFinder(runs: Run[]): (length: number, after: number) => number | undefined {
  const byLength = new Map<number, { indexes: number[]; next: number }>()
  runs.forEach(({ start, end }, index) => {
    const equals = byLength.get(end - start)
    if (equals) equals.indexes.push(index)
    else byLength.set(end - start, { indexes: [index], next: 0 })
  })
  return (length, after) => {
    const equals = byLength.get(length)
    if (!equals) return undefined
    while ((equals.indexes[equals.next] ?? Number.POSITIVE_INFINITY) <= after) equals.next++
    return equals.indexes[equals.next]
  }
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

function runLength(text: string, start: number): number {
  let end = start
  while (text[end] === text[start]) end++
  return end - start
}
