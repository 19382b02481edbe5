/**
 * Tells whether something is assigned to the name of a credential: in code, configuration, tables, markup, sentences.
 * Says how firmly, and where the value starts; what the value is, others decide.
 */
import type { Name } from './assignment-names.ts'

/** How the value is attached. The firmer the form, the less the value itself has to prove. */
export type Bond =
  | 'line' // NAME=value, name.part=value, name=value;other=…: nothing but a literal can stand there
  | 'assigned' // name: value, name = value, name => value
  | 'tag' // <name>value</name>, name="…" value="…"
  | 'said' // the name is value, the name for x is value
  | 'beside' // name value

export type Attached = { bond: Bond; valueAt: number }

const TAG =
  /["']?(?:\s[^<>\n]{0,100})?(?:>(?:<!\[CDATA\[)?|<\/(?:key|name)>\s{0,20}<(?:string|value)>)(?=[^<\n]{1,400}(?:<\/|\]\]>))/y
const ATTRIBUTE = /["']\s{1,4}(?:value|content|default)\s{0,2}=\s{0,2}(?=["'])/y
const TIGHT = /=(?![=\s])/y
const SIGN =
  /["'`*_\]}~”]{0,4}[ \t]{0,8}(?:(?:=>|[-–—]>|(?:\|\||\?\??|&&|[:+?!])?={1,3}|[→⇒–—])[ \t]{0,8}|(?::(?!:)-?|：)[*_]{0,3}[ \t]{0,8}(?:[|>]-?)?(?:\r?\n[ \t]{0,16})?)/y
const TYPED = /\??[ \t]{0,2}:[ \t]{0,2}[A-Za-z&<>[\]., |]{1,40}=[ \t]{0,4}(?=["'`])/y
const CALL = /["'`]?\(\s{0,4}(?=["'`])/y
const ARGUMENT = /["'`],\s{0,4}(?=["'`])/y
const CLOSED_CELL = /^[^|\n]{0,20}\|[^|\n]{1,250}\|/
const CELL = /["'`*_]{0,3}[ \t]{0,8}\|[ \t]{0,8}/y
const SAID =
  /["'`*_)]{0,4}[ \t]{1,4}(?:\([^\n()]{1,40}\)[ \t]{1,2}|(?:used|value|here|today)[ \t]{0,2})?(?:(?:for|of|to|on|in|from|at)[ \t][^\n:=|"'`]{1,60}?)??(?:(?:(?:(?:got|was|has been|is now)[ \t])?(?:set|reset|changed) to|is|was|are|be|ist|lautet|es|est|é)[ \t]{0,2}:?[ \t]|:[ \t]|=[ \t]?)[ \t]{0,4}(?:now |still |currently |just |simply )?/iy
/** 密码是 value, 口令已经重置为value. What stands between tells of the credential (密码长度是 16) or leads to it. */
const SAID_IN_CHINESE =
  /["'`*_)]{0,4}[ \t]{0,4}(?!字段|列|表|长度|强度|位数|规则|策略|校验|哈希|加密|算法|文件|接口|页|框|类型|格式|参数|变量)\p{Script=Han}{0,6}(?:[是为用成叫]|is)[ \t]{0,4}[:：]?[ \t]{0,4}(?=["'`“‘*!-~])/uy
/** Nobody writes a space between the two scripts who does not want to. */
const BESIDE_IN_CHINESE = /(?<=\p{Script=Han})(?=[!-~])(?![:=|"'`(){}<>,.;/\\])/uy
const BESIDE = /["'*_]{0,3}[ \t]{1,4}(?=[^\s:=|])/y

/** In the order in which they are tried; a form may ask for more than what follows the name. */
const FORMS: readonly { bond: Bond; pattern: RegExp; holds?: (text: string, name: Name) => boolean }[] = [
  { bond: 'line', pattern: TIGHT, holds: isLine },
  { bond: 'assigned', pattern: TIGHT },
  { bond: 'tag', pattern: TAG, holds: isInTag },
  { bond: 'assigned', pattern: ARGUMENT, holds: isFirstArgument },
  { bond: 'tag', pattern: ATTRIBUTE },
  { bond: 'assigned', pattern: TYPED },
  { bond: 'assigned', pattern: SIGN },
  { bond: 'assigned', pattern: CALL, holds: (_, { verb }) => !verb },
  { bond: 'assigned', pattern: CELL, holds: isInRow },
  { bond: 'said', pattern: SAID },
  { bond: 'said', pattern: SAID_IN_CHINESE },
  { bond: 'beside', pattern: BESIDE, holds: (_, { verb }) => !verb },
  { bond: 'beside', pattern: BESIDE_IN_CHINESE },
]

export function attach(text: string, name: Name): Attached | undefined {
  for (const { bond, pattern, holds } of FORMS) {
    pattern.lastIndex = name.end
    if (!pattern.test(text)) continue
    const valueAt = pattern.lastIndex
    if (!holds || holds(text, name)) return { bond, valueAt }
  }
  return undefined
}

function before(text: string, { start }: Name, chars: number): string {
  return start <= chars ? `\n${text.slice(0, start)}` : text.slice(start - chars, start)
}

/** An environment variable, the start of a line, or between the semicolons of a connection string: no place for code. */
function isLine(text: string, name: Name): boolean {
  if (/^[A-Z][A-Z0-9_]*$/.test(text.slice(name.start, name.end))) return true
  return /[\n\r][ \t>$#-]{0,8}(?:export |set |SET |ENV |env |-e |let )?$|[;"'`?&]$|;[ \t]$/.test(before(text, name, 16))
}

function isInTag(text: string, name: Name): boolean {
  return /[</"']\s?$|<[\w:.-]+$|<(?:key|name)>$/.test(before(text, name, 40))
}

function isFirstArgument(text: string, name: Name): boolean {
  return /\(\s{0,4}["'`]$/.test(before(text, name, 6))
}

/**
 * A row of a table begins with its bar, on a line, in quotes or as the hook of an index; a union type does not. One that was
 * put behind something else is known by the cell before the name, and by the bar that closes that of the value.
 */
function isInRow(text: string, name: Name): boolean {
  const lead = before(text, name, 300)
  if (/(?:\n[ \t>]{0,8}|["']|— )\|[^\n]*$/.test(lead)) return true
  return /\|[^|\n]{1,100}\|[ \t*_`]{0,8}$/.test(lead) && CLOSED_CELL.test(text.slice(name.end, name.end + 300))
}
