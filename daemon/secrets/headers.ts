/** Finds credentials in HTTP headers and wherever their schemes are quoted: Bearer, Basic, API-key headers, cookies. */
import { isGiven, isRandom } from './credential.ts'
import type { Secret } from './detect.ts'
import { matchesFrom, pattern, type Starts } from './from-starts.ts'
import type { Kind } from './kinds.ts'
import { isPlaceholder } from './placeholder.ts'
import { isWordy } from './words.ts'

const SCHEME = pattern(
  /\b(bearer|basic|token|apikey|api-key|digest|negotiate|hawk|aws4-hmac-sha256|sso-key|splunk|genie-?key)\b[*_]{0,2}[ \t]{1,4}["'`*_]{0,3}([A-Za-z0-9._~+/=:|-]{8,})/gi,
)
const AUTHORIZATION = pattern(
  /(?<![A-Za-z])authorization["'`*\\]{0,4}\s{0,4}(?:[:=]|=>|,)\s{0,4}["'`*\\[]{0,4}([^\s"'`,\\][^"'`\n\r\\]{0,299})/gi,
)
const SIGNATURE = /\b(?:signature|response|oauth_(?:token|signature|consumer_key))=["']?([A-Za-z0-9+/=%_-]{16,})/gi
/** `_auth` of .npmrc, `auth` of a Docker configuration: Basic without the word. */
const AUTH = pattern(/(?<![A-Za-z])_?auth["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9+/_-]{8,}={0,2})/g)
const HEADER_CHARS = 2000
const PARAMETERS = /^(?:digest|oauth|hawk|signature|aws4-hmac-sha256)$/i
/** What is judged is bounded; what was found reaches to the end of its run. */
const REST = /[^\s,;)\]}"'`\\]+/y
const COOKIE = pattern(/\b(?:set-)?cookie2?["'`*\\]{0,4}\s{0,4}[:=]\s{0,4}["'`*\\]{0,4}([^\n\r"`\\]{4,})/gi)
const COOKIE_PAIR = /(?<![A-Za-z0-9_.%-])([A-Za-z0-9_.%-]{1,100})=([^;\s,"']{8,})/g

export function findInHeaders(text: string, starts?: Starts): Secret[] {
  return [...schemes(text, starts), ...authorizations(text, starts), ...cookies(text, starts), ...encoded(text, starts)]
}

/** `Bearer …` and its like outside a header: prose speaks of bearer tokens, so the value must look made. */
function schemes(text: string, starts: Starts): Secret[] {
  const found: Secret[] = []
  for (const match of matchesFrom(text, SCHEME, starts)) {
    const [whole, scheme = '', run = ''] = match
    const value = run.replace(/[.:]+$/, '')
    const end = match.index + whole.length - (run.length - value.length)
    const kind = kindOf(scheme)
    const real = kind === 'basic-auth' ? isBasic(value) : isRandom(value, { minChars: 16 })
    if (real) found.push({ kind, start: end - value.length, end })
  }
  return found
}

/** After `Authorization:` everything but a placeholder counts. */
function authorizations(text: string, starts: Starts): Secret[] {
  const found: Secret[] = []
  let taken = 0
  for (const match of matchesFrom(text, AUTHORIZATION, starts)) {
    const [whole, value = ''] = match
    const start = match.index + whole.length - value.length
    if (start < taken) continue
    const [head = '', scheme = ''] = /^([A-Za-z][A-Za-z0-9-]{2,20})[ \t]+/.exec(value) ?? []
    if (PARAMETERS.test(scheme)) {
      found.push(...signatures(text, start))
      continue
    }
    const credential = /^[^\s,;)\]}]+/.exec(value.slice(head.length))?.[0] ?? ''
    if (!isAuthorization(scheme, credential)) continue
    REST.lastIndex = start + head.length + credential.length
    taken = REST.test(text) ? REST.lastIndex : start + head.length + credential.length
    found.push({ kind: kindOf(scheme), start: start + head.length, end: taken })
  }
  return found
}

function isAuthorization(scheme: string, credential: string): boolean {
  if (!/^(?:bearer|basic|token|apikey|key|jwt|negotiate)$/i.test(scheme)) return isRandom(credential, { minChars: 12 })
  return credential.length >= 6 && isGiven(credential) && (/[\d+/=~]/.test(credential) || !isWordy(credential))
}

/** The proof among the parameters of a Digest, OAuth or AWS header; the others only say who asks. */
function signatures(text: string, start: number): Secret[] {
  const [line = ''] = text.slice(start, start + HEADER_CHARS).split('\n', 1)
  return [...line.matchAll(SIGNATURE)].flatMap((match): Secret[] => {
    const [whole, value = ''] = match
    const end = start + match.index + whole.length
    return isPlaceholder(value) ? [] : [{ kind: 'token', start: end - value.length, end }]
  })
}

/** Session cookies open accounts; a cookie's other pairs (theme, language) do not look made. */
function cookies(text: string, starts: Starts): Secret[] {
  const found: Secret[] = []
  for (const match of matchesFrom(text, COOKIE, starts, ['set-'.length, 0])) {
    const [whole, pairs = ''] = match
    const start = match.index + whole.length - pairs.length
    for (const pair of pairs.matchAll(COOKIE_PAIR)) {
      const value = pair[2] ?? ''
      if (/^(?:expires|path|domain|max-age|samesite)$/i.test(pair[1] ?? '')) continue
      const end = start + pair.index + pair[0].length
      if (isRandom(decodeLoosely(value), { minChars: 12 }))
        found.push({ kind: 'cookie', start: end - value.length, end })
    }
  }
  return found
}

function encoded(text: string, starts: Starts): Secret[] {
  return [...matchesFrom(text, AUTH, starts, ['_'.length, 0])].flatMap((match): Secret[] => {
    const [whole, value = ''] = match
    const end = match.index + whole.length
    return isBasic(value) ? [{ kind: 'basic-auth', start: end - value.length, end }] : []
  })
}

function kindOf(scheme: string): Kind {
  if (/^basic$/i.test(scheme)) return 'basic-auth'
  if (/^(?:bearer|jwt)$/i.test(scheme)) return 'bearer-token'
  return /key/i.test(scheme) ? 'api-key' : 'token'
}

/** Base64 of `user:password`. Ordinary words after "basic" do not decode to printable text with a colon. */
function isBasic(value: string): boolean {
  if (isPlaceholder(value) || !/^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(value)) return false
  const plain = Buffer.from(value.slice(0, 400), 'base64').toString('latin1')
  return /^[\x20-\x7e]{0,100}:[\x20-\x7e]/.test(plain) && !plain.startsWith('//', plain.indexOf(':') + 1)
}

function decodeLoosely(value: string): string {
  return value.replace(/%[0-9A-Fa-f]{2}/g, '+')
}
