/**
 * Finds the words that name a credential: "password", "API_KEY", "clientSecret". Leaves out words that only contain
 * one (`compass`, `tokenizer`) and names that tell of one without holding it (`password_file`, `max_tokens`).
 */

import type { Starts } from './from-starts.ts'

export type Announced = 'password' | 'secret' | 'token' | 'api-key'

/**
 * From the start of the whole identifier to its end. `owner` is what stands before the name in it: `jwt_` of
 * `jwt_secret`. A `verb` is a name that is an ordinary word too ("pass the flag") and proves little by itself.
 */
export type Name = { announced: Announced; owner: string; verb: boolean; start: number; end: number }

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

/** A name that goes on like this tells of a credential, it does not hold one. */
const ABOUT_AFTER =
  /(?:^|[_-])(?:file|path|dir|url|uri|endpoint|names?|types?|ids?|length|len|counts?|expir\w*|ttl|polic\w*|reset|hint|field|label|ref|arn|version|regex|pattern|min|max|limits?|budget|usage|used|env|enabled|required|placeholder|prompt|manager|provider|service|input|form|strength|valid\w*|schema|errors?|format|prefix|suffix|list|map|index|algorithm|alg|cost|rate|window|stream|kind|scopes?|audience|issuer|lifetime|age|page|param|header|class|key_?ref|attempts?|change|required|protected|manager|store)(?:$|[_-])/i
const ABOUT_BEFORE =
  /(?:^|[_.-])(?:next|page|continuation|cancell?ation|cancel|max|min|num|total|input|output|prompt|completion|design|colou?r|reset|forgot|eos|bos|pad|unk|mask|cls|sep|special|stop|syntax|public|no|is|has|use|show|hide|get|cached|per|sync|count)[_.-]?$/i

export function* findNames(text: string, starts?: Starts): Generator<Name> {
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

/** The piece of `x-…-key` that is looked for is its end. */
const LEAD_CHARS = 36
/** Longer than any name, with what it must not go on with. */
const NAME_CHARS = 64

/** The same names, but the long pattern is tried only around the pieces of which each holds one. */
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
