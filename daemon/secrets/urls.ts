/** Finds credentials in addresses: the password of `scheme://user:password@host`, a token as user, keys in a query. */
import { isChosen, isGiven, isRandom } from './credential.ts'
import type { Secret } from './detect.ts'
import { isPlaceholder } from './placeholder.ts'
import { isWordy } from './words.ts'

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

/** Pure on one candidate. The password reaches to the last `@` before the host's own path, for many hold a bare `@` or `/`. */
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
