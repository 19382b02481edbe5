/** Cuts out the value that an assignment gives: quoted, emphasised or bare. Says nothing about what it is. */

export type Value = { start: number; end: number; quoted: boolean; cutOff: boolean }

/** Emphasis, a string's prefix, a wrapping constructor, or a variable whose fallback follows. */
const OPENING =
  /(?:[*_~]{1,3}|!!str |(?:(?:String::from|String|Some|Ok|Secret(?:Str|String)?|Buffer\.from|Password|str|bytes)\(|[\w.$]{1,60}(?:\(["'][\w.-]{1,40}["'])?[ \t]{0,2}(?:\|\||\?\?|\bor\b|,)[ \t]{0,2})?(?:[bBrRuUfFLN@$])?(?=["'`]))?/y
const QUOTES: Record<string, string> = { '"': '"', "'": "'", '`': '`', '“': '”', '„': '“', '«': '»', '‘': '’' }

/** What a judge needs to see. A text of nothing but assignments would otherwise be read to its end from each of them. */
const JUDGED = 300
const BARE = /(?:[^\s"'`<]|<(?![/A-Za-z!])){1,300}/y
const REST = /(?:[^\s"'`<]|<(?![/A-Za-z!]))+/y
const TRAILING = /[.,;:)\]}\\]{1,8}$/
const ANGLED = /<[^<>\n]{1,80}>/y

/** Where the next pair of `a=1;b=2`, `a=1&b=2` or `a=1, b=2` begins, or a Chinese sentence goes on, the value is over. */
const NEXT_PAIR = /[;,&](?=[A-Za-z_][\w .-]{0,30}=)|,(?=["'[{]|$)|\\?["'`]|\\[nrt]|[，。；、！？）】」』]/
const CHINESE_AFTER = /(?<=[!-~])\p{Script=Han}{1,40}$/u

export function readValue(text: string, at: number): Value | undefined {
  const opening = stick(OPENING, text, at)
  const open = at + opening.length
  const close = QUOTES[text[open] ?? '']
  if (close !== undefined) {
    // Tripled quotes open as one; an empty string between two of them is none.
    const tripled = text.startsWith((text[open] ?? '').repeat(3), open)
    const start = open + (tripled ? 3 : 1)
    const end = closing(text, start, close)
    if (end > start) return { start, end, quoted: true, cutOff: false }
    if (end === start) return undefined
    return bare(text, start, '')
  }
  if (text[open] === '<' && stick(ANGLED, text, open) !== '') return undefined
  return bare(text, open, opening)
}

/** The closing quote on the same line, past escaped ones, or -1. */
function closing(text: string, from: number, close: string): number {
  const limit = Math.min(text.length, from + JUDGED)
  for (let at = from; at < limit; at++) {
    const char = text[at]
    if (char === close) return at
    if (char === '\n' || char === '\r') return -1
    if (char === '\\') at++
  }
  return -1
}

function bare(text: string, start: number, opening: string): Value | undefined {
  const run = stick(BARE, text, start)
  const pair = run.search(NEXT_PAIR)
  const cutOff = pair < 0 && run.length === JUDGED
  let value = pair < 0 ? run : run.slice(0, pair)
  if (opening !== '') value = value.replace(/[*_~]{1,3}[.,;:!?)]*$/, '')
  if (!cutOff) value = value.replace(CHINESE_AFTER, '').replace(TRAILING, '')
  return value === '' ? undefined : { start, end: start + value.length, quoted: false, cutOff }
}

/** Where a value that was judged by its head really ends. */
export function endOf(text: string, { end, cutOff }: Value): number {
  if (!cutOff) return end
  const rest = stick(REST, text, end)
  const pair = rest.search(NEXT_PAIR)
  return end + (pair < 0 ? rest.replace(TRAILING, '') : rest.slice(0, pair)).length
}

function stick(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}
