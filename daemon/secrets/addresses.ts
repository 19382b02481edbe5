/** Finds credentials in addresses (`scheme://user:password@host`, a token as user, keys in a query) and in HTTP headers. */
import {
  isChosen,
  isGiven,
  isPlaceholder,
  isRandom,
  isWordy,
  type Kind,
  matchesFrom,
  pattern,
  type Starts,
} from './credential.ts'
import type { Secret } from './detect.ts'

/** `scheme://`, then all that may stand before the last `@`. Bounded: a text may hold a million schemes and no `@`. */
const SCHEME = /:\/\/(?<=[A-Za-z][A-Za-z0-9+.-]{0,30}:\/\/)/g
const AUTHORITY = /[^\s"'`<>\\]{1,1000}/y
const PORT = /^\d{1,5}(?:[/?#]|$)/

/** Query parameters that carry a credential whatever their value looks like, if it is no placeholder. */
const QUERY =
  /[?&;#](?:amp;)?((?:x-amz-|x-goog-)?(?:signature|security-token|credential)|sig|access_token|refresh_token|id_token|auth_token|api_?key|apikey|key|token|auth|password|passwd|pwd|client_secret|secret|code|sid|session_?id|jwt|private_token|hmac|st)=([^\s"'`<>&#\\]{6,})/gi

/** The same without a scheme. Only with a port or a path behind the host: `Author:name99@host.org` is a mail address. */
const BARE = /(?<![\w/.:@-])[A-Za-z][\w.-]{1,40}:([^\s:/"'`]{6,100})@[A-Za-z0-9][A-Za-z0-9.-]{1,100}(?::\d{2,5}|\/)/g

export function findInUrls(text: string): Secret[] {
  return [...userInfo(text), ...bareUserInfo(text), ...queries(text)]
}

function bareUserInfo(text: string): Secret[] {
  return [...text.matchAll(BARE)].flatMap((match): Secret[] => {
    const password = match[1] ?? ''
    const start = match.index + match[0].indexOf(':') + 1
    return isChosen(password) ? [{ kind: 'url-password', start, end: start + password.length }] : []
  })
}

function userInfo(text: string): Secret[] {
  const found: Secret[] = []
  for (const scheme of text.matchAll(SCHEME)) {
    const start = scheme.index + scheme[0].length
    AUTHORITY.lastIndex = start
    const candidate = AUTHORITY.exec(text)?.[0]
    if (!candidate?.includes('@') || candidate.startsWith('[')) continue
    const secret = inUserInfo(candidate)
    if (secret) found.push({ kind: secret.kind, start: start + secret.start, end: start + secret.end })
  }
  return found
}

function inUserInfo(candidate: string): Secret | undefined {
  const colon = candidate.search(/[:@/?#]/)
  if (candidate[colon] === '@') {
    const user = candidate.slice(0, colon)
    return isRandom(user, { minChars: 20 }) ? { kind: 'url-token', start: 0, end: colon } : undefined
  }
  if (candidate[colon] !== ':') return undefined
  const rest = candidate.slice(colon + 1)
  // Not `host:8080/@scope/name`, a second address in the same run, or an image pinned to its digest.
  if (PORT.test(rest) || rest.startsWith('//') || /@sha\d{3}:/.test(rest)) return undefined
  const close = lastAt(rest)
  const password = rest.slice(0, close)
  if (close < 1 || isPlaceholder(decoded(password)) || /^(?:[*.x]+|x-oauth-basic)$/i.test(password)) {
    const user = candidate.slice(0, colon)
    return close > 0 && isRandom(user, { minChars: 20 }) ? { kind: 'url-token', start: 0, end: colon } : undefined
  }
  return { kind: 'url-password', start: colon + 1, end: colon + 1 + close }
}

/** The `@` that ends the password: the last one before the path, or the first if the password itself holds slashes. */
function lastAt(rest: string): number {
  const path = rest.indexOf('/')
  const beforePath = path < 0 ? rest.lastIndexOf('@') : rest.lastIndexOf('@', path)
  if (beforePath >= 0) return beforePath
  // A slash before the `@` is part of a password only if a host follows: `pa/ss@db.internal`, not `docs/@types`.
  const at = rest.indexOf('@')
  return /^@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+|:\d+|\/|$)/.test(rest.slice(at)) && /\d/.test(rest.slice(0, at)) ? at : -1
}

function queries(text: string): Secret[] {
  const found: Secret[] = []
  for (const match of text.matchAll(QUERY)) {
    const [whole, name = '', value = ''] = match
    const end = match.index + whole.length
    const signed = /sig|hmac|security/i.test(name)
    const judged = decoded(value)
    const generic = /^(?:key|code|auth|st|token|sid|secret)$/i.test(name)
    const real = signed
      ? isSignature(judged)
      : generic
        ? isRandom(judged, { minChars: 16 })
        : isGiven(judged) && /\d|[^a-z_-]/i.test(judged)
    if (real) found.push({ kind: signed ? 'url-signature' : 'url-token', start: end - value.length, end })
  }
  return found
}

function isSignature(value: string): boolean {
  return /^[A-Za-z0-9+/=_-]{16,}$/.test(value) && !isWordy(value) && !isPlaceholder(value)
}

function decoded(value: string): string {
  return value.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const HEADERS_SCHEME = pattern(
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
  for (const match of matchesFrom(text, HEADERS_SCHEME, starts)) {
    const [whole, scheme = '', run = ''] = match
    const value = run.replace(/[.:]+$/, '')
    const end = match.index + whole.length - (run.length - value.length)
    const kind = kindOf(scheme)
    const real = kind === 'basic-auth' ? isBasic(value) : isRandom(value, { minChars: 16 })
    if (real) found.push({ kind, start: end - value.length, end })
  }
  return found
}

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
