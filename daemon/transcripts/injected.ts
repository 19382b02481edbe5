/** Removes what a harness, a hook or memoryd put into a text, and what the user marked as private. Pure. */

/** Everything that memoryd injects stands in this tag, so that no memory is learned from itself. */
export const INJECTED_TAG = 'memoryd-context'

const HARNESS_TAGS = [
  'system-reminder',
  // Claude Code up to 1.0 wrote the output of hooks as messages.
  'session-start-hook',
  'user-prompt-submit-hook',
  'pre-tool-use-hook',
  'post-tool-use-hook',
  'ide_opened_file',
  'ide_selection',
  'environment_context',
  'user_instructions',
  'hook_context',
  'session_context',
]

const OWN = tokens([INJECTED_TAG])
const ALL = tokens([INJECTED_TAG, ...HARNESS_TAGS])

function tokens(tags: readonly string[]): RegExp {
  return new RegExp(`<(\\/?)(${tags.join('|')})(?=[\\s/>]|$)[^<>]*>?`, 'iy')
}

/** The form in which this program injects; nothing in the text can end it early. */
export function injectedBlock(text: string): string {
  const inert = text.replace(new RegExp(`<(?=/?${INJECTED_TAG})`, 'gi'), '&lt;')
  return `<${INJECTED_TAG}>\n${inert}\n</${INJECTED_TAG}>`
}

export function stripInjected(text: string): string {
  return strip(text, ALL)
}

export function stripOwn(text: string): string {
  return strip(text, OWN)
}

function strip(text: string, token: RegExp): string {
  const { closed, unclosed } = markedSpans(text, token)
  // A harness cuts what is too long, with the end of our block. Other unclosed tags may be part of what was said.
  const open = unclosed.filter(({ name }) => name === INJECTED_TAG || name === 'private')
  const spans = [...closed, ...open.map(({ start }) => ({ start, end: text.length }))]
  return spans.length === 0 ? text : replaced(text, spans, '').trim()
}

/** White space may be written as in JSON, which the input of most tools is by then. */
const PRIVATE = /<(?:\s|\\[nrt]){0,8}(\/?)(?:\s|\\[nrt]){0,8}(private)(?:(?:\s|\\[nrt]){0,8}>|(?=[\s/\\])|$)/iy

/** Without `<private>…</private>`; one that is not closed reaches to the end. */
export function withoutPrivate(text: string): string {
  return strip(text, PRIVATE)
}

export function isPrivateToTheEnd(text: string): boolean {
  return markedSpans(text, PRIVATE).unclosed.length > 0
}

/** For output of tools. A mark that is not closed is mostly code about the mark: it hides nothing. */
export function withPrivateHidden(text: string): string {
  return replaced(text, markedSpans(text, PRIVATE).closed, '[private]')
}

type Span = { start: number; end: number }

/** Linear in the text. The token is sticky and has two groups: the slash of a closing mark, and the name. Marks may nest. */
function markedSpans(text: string, token: RegExp) {
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

function replaced(text: string, spans: readonly Span[], instead: string): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start >= from) parts.push(text.slice(from, start), instead)
    from = Math.max(from, end)
  }
  parts.push(text.slice(from))
  return parts.join('')
}
