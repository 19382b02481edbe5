/** Finds credentials by the word that announces them: `password=…`, `apiKey: "…"`, "the token for staging is …". */
import { isChosen, isGiven, isPlaceholder, isRandom, isWordy, type Starts } from './credential.ts'
import type { Secret } from './detect.ts'

export function findAssignments(text: string, starts?: Starts): Secret[] {
  const found: Secret[] = []
  let taken = 0
  for (const name of findNames(text, starts)) {
    // A value that was taken may hold the word again; what follows inside it is no assignment of its own.
    const attached = name.end < taken ? undefined : attach(text, name)
    const value = attached && readValue(text, attached.valueAt)
    if (!value || !isCredential(text, name, attached.bond, value)) continue
    taken = endOf(text, value)
    found.push({ kind: name.announced, start: value.start, end: taken })
  }
  return found
}

function isCredential(text: string, name: Name, bond: Bond, { start, end, quoted }: Value): boolean {
  const value = text.slice(start, end)
  if (/[ \t]/.test(value)) return quoted && isPhrase(value, name, bond)
  // Prose is full of "token" and "password": a plain word behind one is not worth a closer look.
  if (bond === 'beside' && !quoted && value.length < 20 && !/\d/.test(value)) return false
  return judges[name.announced](value, {
    name,
    bond,
    quoted,
    isFirm: () => bond === 'line' || bond === 'tag' || (bond === 'assigned' && isListed(text, name.start, end)),
    // A variable of the environment is set to what stands there; elsewhere a name may stand for another variable.
    isLiteral: bond === 'line' && /^[A-Z0-9_]+$/.test(text.slice(name.start, name.end)),
  })
}

type Circumstances = { name: Name; bond: Bond; quoted: boolean; isFirm: () => boolean; isLiteral: boolean }

const judges: Record<Announced, (value: string, circumstances: Circumstances) => boolean> = {
  password: (value, { name, bond, quoted, isFirm, isLiteral }) => {
    if (isChosen(value)) return bond !== 'beside' || quoted || /^(?=.*\d)[^:/=.,()]+$/.test(value)
    if (isFirm()) return isGiven(value) && (isLiteral || !(name.verb || isName(value)))
    return quoted && bond !== 'beside' && isPlainWord(value)
  },
  secret: (value, { name, bond, quoted, isFirm }) => {
    if (bond === 'beside')
      return isRandom(value, { minChars: 20 }) || (quoted && value.length >= 8 && /\d/.test(value) && isChosen(value))
    if (quoted && OWNED.test(name.owner)) return isGiven(value) && value.length >= 8 && !isName(value)
    if (isFirm())
      return isGiven(value) && value.length >= 6 && !isName(value) && !(isWordy(value) && /[-_/.]/.test(value))
    return (
      isRandom(value, { minChars: 12 }) || (value.length >= 8 && isChosen(value) && !isName(value) && !isDashed(value))
    )
  },
  token: judgeToken,
  'api-key': judgeToken,
}

/** `secret: web-tls` names a secret kept elsewhere; `jwt_secret: "…"` can only be one. */
const OWNED =
  /(?:jwt|client|session|cookie|app|webhook|signing|shared|auth|api|consumer|hmac|oauth|encryption|master|access|totp)[_.-]?$/i

function judgeToken(value: string, { bond, quoted, isFirm }: Circumstances): boolean {
  if (bond === 'beside') return isRandom(value, { minChars: 20 })
  return isRandom(value, { minChars: quoted || isFirm() ? 12 : 16 })
}

/** A variable that is handed on: camel case, or named after what it holds. */
function isName(value: string): boolean {
  return (
    /^[A-Z]?[a-z]+(?:[A-Z][a-z]+)+$/.test(value) ||
    /^[A-Za-z_]*(?:passw|secret|token|_key|Key\b|creds)[A-Za-z_]*$/i.test(value)
  )
}

function isDashed(value: string): boolean {
  return /^[a-z]+(?:[-_./][a-z0-9]+)+$/.test(value)
}

function isPlainWord(value: string): boolean {
  return /^[a-z]{6,40}$/.test(value) && !isPlaceholder(value) && !isName(value)
}

const SENTENCE =
  /\b(?:the|an?|your|you|is|are|must|be|to|enter|please|for|of|and|or|with|in|not|no|at|least|contains?|characters?|should|can|cannot|too|don't|we|our|this|that|from|here|was|has|if|do)\b/i

/** A quoted phrase: words as in a passphrase, or a sentence-free run in which one word can only be a password. */
function isPhrase(value: string, { announced }: Name, bond: Bond): boolean {
  if (announced !== 'password' || bond === 'said' || bond === 'beside' || value.length > 120 || SENTENCE.test(value))
    return false
  const words = value.trim().split(/[ \t]+/)
  if (isPlaceholder(value)) return false
  return (
    (words.length >= 3 && words.every((word) => /^[a-z]{3,12}$/.test(word))) ||
    words.some((word) => isChosen(word) && /\d/.test(word))
  )
}

const PAIR = /^[ \t-]{0,40}["']?[\w.-]{1,60}["']?:[ \t]{1,8}[^\s{[(]\S{0,200}(?<![,;])[ \t]{0,4}$/

/** A line of `name: value` beside another: configuration, where the value can be any word. */
function isListed(text: string, start: number, valueEnd: number): boolean {
  const above = text
    .slice(Math.max(0, start - LINE_CHARS), start)
    .split('\n')
    .slice(-2)
  const below = text
    .slice(valueEnd, valueEnd + LINE_CHARS)
    .split('\n')
    .slice(0, 2)
  const line = `${above.at(-1)}${text.slice(start, valueEnd)}${below[0]}`
  return PAIR.test(line) && [above.at(-2), below[1]].some((other) => other !== undefined && PAIR.test(other))
}

const LINE_CHARS = 300

type Announced = 'password' | 'secret' | 'token' | 'api-key'

/**
 * The whole identifier. `owner` is what stands before the name in it: `jwt_` of `jwt_secret`. A `verb` is a name that is an
 * ordinary word too ("pass the flag") and proves little by itself.
 */
type Name = { announced: Announced; owner: string; verb: boolean; start: number; end: number }

const NAMES: readonly (readonly [Announced, string])[] = [
  [
    'password',
    'pass(?:word|wd|phrase|code|wort|wrd)|kennwort|contrase(?:ñ|n)a|senha|wachtwoord|mot[ _-]?de[ _-]?passe|parola|пароль|密码|密碼|口令|授权码|パスワード|비밀번호|(?:ssh|db|user|root|admin|ftp|smtp|mail|ldap|mysql|pg|wifi|sudo|key|store|sql)pass(?!word|wd|phrase|code)|requirepass|masterauth|bindpw|psk|pwd|pass|pw',
  ],
  [
    'api-key',
    '(?:api|access|auth|account|encryption|signing|private|master|shared|service|session|subscription|licen[sc]e|app|application|client|admin|deploy|storage|webhook|consumer|integration|secret|hmac|ssh|root|aes|enc|hash|cookie|jwt|rsa|crypto|cipher|fernet|vapid|captcha|pusher|algolia|firebase|datadog|sentry|maps?|openai|stripe)[ _.-]?key|x-[a-z-]{2,30}-key|密钥|秘钥|私钥|金鑰',
  ],
  ['secret', 'secret|credentials?|creds|(?:hash|password|encryption)[_-]salt'],
  ['token', 'token|令牌|jwt|bearer|session[_-]?id|(?:github|gh|gitlab|azure|ado|ci)[_-]pat'],
]
const NAME = new RegExp(NAMES.map(([, names]) => `(${names})`).join('|'), 'gi')
const FIRST_NAME = new RegExp(NAME.source, 'i')
const SHORT = /^(?:pass|pwd|pw|psk|creds|jwt|parola|senha)$/i
const VERB = /^(?:pass|pwd|creds|jwt|parola|senha)$/i

const ABOUT_AFTER =
  /(?:^|[_-])(?:file|path|dir|url|uri|endpoint|names?|types?|ids?|length|len|counts?|expir\w*|ttl|polic\w*|reset|hint|field|label|ref|arn|version|regex|pattern|min|max|limits?|budget|usage|used|env|enabled|required|placeholder|prompt|manager|provider|service|input|form|strength|valid\w*|schema|errors?|format|prefix|suffix|list|map|index|algorithm|alg|cost|rate|window|stream|kind|scopes?|audience|issuer|lifetime|age|page|param|header|class|key_?ref|attempts?|change|required|protected|manager|store)(?:$|[_-])/i
const ABOUT_BEFORE =
  /(?:^|[_.-])(?:next|page|continuation|cancell?ation|cancel|max|min|num|total|input|output|prompt|completion|design|colou?r|reset|forgot|eos|bos|pad|unk|mask|cls|sep|special|stop|syntax|public|no|is|has|use|show|hide|get|cached|per|sync|count)[_.-]?$/i

/** Without words that only contain a name (`compass`) and names that tell of a credential without holding it (`max_tokens`). */
function* findNames(text: string, starts?: Starts): Generator<Name> {
  for (const { index, match } of starts ? near(text, starts) : everywhere(text)) {
    const announced = NAMES[NAMES.findIndex((_, at) => match[at + 1] !== undefined)]?.[0]
    const owner = identifierBefore(text, index)
    const nameEnd = index + match[0].length
    // 密码hunter2: what follows in another script is no part of the name.
    const after = /\p{Script=Han}$/u.test(match[0]) ? '' : identifierAfter(text, nameEnd)
    const start = index - owner.length
    if (!announced || !startsWell(match[0], owner) || !endsWell(match[0], after) || isWithin(text, start)) continue
    const verb = /^-*$/.test(owner) && after === '' && VERB.test(match[0])
    yield { announced, owner, verb, start, end: nameEnd + after.length }
  }
}

type Place = { index: number; match: RegExpExecArray }

function* everywhere(text: string): Generator<Place> {
  for (const match of text.matchAll(NAME)) yield { index: match.index, match }
}

/** `x-…-key` is found by its end. */
const LEAD_CHARS = 36
/** Longer than any name and its lookahead. */
const NAME_CHARS = 64

function* near(text: string, starts: readonly number[]): Generator<Place> {
  let from = 0
  for (const start of starts)
    while (from <= start) {
      const begin = Math.max(from, start - LEAD_CHARS)
      const match = FIRST_NAME.exec(text.slice(begin, start + NAME_CHARS))
      if (!match || begin + match.index > start) break
      from = begin + match.index + match[0].length
      yield { index: begin + match.index, match }
    }
}

const IDENTIFIER = /[A-Za-z0-9_.-]/
const MAX_BEFORE = 60

function identifierBefore(text: string, end: number): string {
  let start = end
  while (start > 0 && end - start < MAX_BEFORE && IDENTIFIER.test(text[start - 1] ?? '')) start--
  return text.slice(start, end)
}

const AFTER = /[A-Za-z0-9_-]{0,40}/y

function identifierAfter(text: string, start: number): string {
  AFTER.lastIndex = start
  return AFTER.exec(text)?.[0] ?? ''
}

/** `compass` and `bypass` end in a name, `dbPass` and `DB_PASS` hold one; long names may be glued to anything. */
function startsWell(name: string, owner: string): boolean {
  if (owner === '') return true
  if (SHORT.test(name) && /[A-Za-z]$/.test(owner) && !(/[a-z]$/.test(owner) && /^[A-Z]/.test(name))) return false
  return !ABOUT_BEFORE.test(snake(owner))
}

/** `tokenizer` and `secretary` are other words; `password2`, `SECRET_KEY_BASE` and `tokenProd` are not. */
function endsWell(name: string, after: string): boolean {
  if (after === '') return true
  if (/^(?!s$|s[_\d-])[a-z]/.test(after) || (SHORT.test(name) && /^[A-Z][a-z]/.test(after))) return false
  return !ABOUT_AFTER.test(snake(after))
}

/** A part of a path or of a name with colons (`arn:…:secret:prod`) names nothing. */
function isWithin(text: string, start: number): boolean {
  return /(?<!\$env)(?<=[\w:-])[:/\\]$/i.test(text.slice(Math.max(0, start - 5), start))
}

function snake(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2')
}

type Value = { start: number; end: number; quoted: boolean; cutOff: boolean }

/** Emphasis, a string's prefix, a wrapping constructor, or a variable whose fallback follows. */
const OPENING =
  /(?:[*_~]{1,3}|!!str |(?:(?:String::from|String|Some|Ok|Secret(?:Str|String)?|Buffer\.from|Password|str|bytes)\(|[\w.$]{1,60}(?:\(["'][\w.-]{1,40}["'])?[ \t]{0,2}(?:\|\||\?\?|\bor\b|,)[ \t]{0,2})?(?:[bBrRuUfFLN@$])?(?=["'`]))?/y
const QUOTES: Record<string, string> = { '"': '"', "'": "'", '`': '`', '“': '”', '„': '“', '«': '»', '‘': '’' }

/** A text of nothing but assignments would otherwise be read to its end from each of them. */
const JUDGED = 300
const BARE = /(?:[^\s"'`<]|<(?![/A-Za-z!])){1,300}/y
const REST = /(?:[^\s"'`<]|<(?![/A-Za-z!]))+/y
const TRAILING = /[.,;:)\]}\\]{1,8}$/
const ANGLED = /<[^<>\n]{1,80}>/y

/** Where the next pair of `a=1;b=2`, `a=1&b=2` or `a=1, b=2` begins, or a Chinese sentence goes on, the value is over. */
const NEXT_PAIR = /[;,&](?=[A-Za-z_][\w .-]{0,30}=)|,(?=["'[{]|$)|\\?["'`]|\\[nrt]|[，。；、！？）】」』]/
const CHINESE_AFTER = /(?<=[!-~])\p{Script=Han}{1,40}$/u

function readValue(text: string, at: number): Value | undefined {
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

function endOf(text: string, { end, cutOff }: Value): number {
  if (!cutOff) return end
  const rest = stick(REST, text, end)
  const pair = rest.search(NEXT_PAIR)
  return end + (pair < 0 ? rest.replace(TRAILING, '') : rest.slice(0, pair)).length
}

function stick(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

/** How the value is attached. The firmer the form, the less the value itself has to prove. */
type Bond =
  | 'line' // NAME=value, name.part=value, name=value;other=…: nothing but a literal can stand there
  | 'assigned' // name: value, name = value, name => value
  | 'tag' // <name>value</name>, name="…" value="…"
  | 'said' // the name is value, the name for x is value
  | 'beside' // name value

type Attached = { bond: Bond; valueAt: number }

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
/** A space between the two scripts is written on purpose. */
const BESIDE_IN_CHINESE = /(?<=\p{Script=Han})(?=[!-~])(?![:=|"'`(){}<>,.;/\\])/uy
const BESIDE = /["'*_]{0,3}[ \t]{1,4}(?=[^\s:=|])/y

/** In the order in which they are tried. */
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

function attach(text: string, name: Name): Attached | undefined {
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
 * A row of a table begins with its bar, on a line, in quotes or as the hook of an index; a union type does not. Behind
 * something else, a row is known by the cell before the name and the bar that closes the cell of the value.
 */
function isInRow(text: string, name: Name): boolean {
  const lead = before(text, name, 300)
  if (/(?:\n[ \t>]{0,8}|["']|— )\|[^\n]*$/.test(lead)) return true
  return /\|[^|\n]{1,100}\|[ \t*_`]{0,8}$/.test(lead) && CLOSED_CELL.test(text.slice(name.end, name.end + 300))
}
