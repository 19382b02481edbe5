/** Finds credentials that need no context: the issuers' own shapes, JSON web tokens, and hashed passwords. */

import type { Secret } from './detect.ts'
import type { Kind } from './kinds.ts'
import { isPlaceholder } from './placeholder.ts'
import { middles, shapes } from './token-shapes.ts'
import { isWordy } from './words.ts'

// One pass finds every prefix at the start of a word, and its group says which shape to try. Seventy passes cost five
// times more. Where one prefix begins another, the longer one stands first in the list.
const PREFIX = new RegExp(
  `(?<![A-Za-z0-9])(?=[A-Za-z0-9])(?:${shapes.map(([, prefix]) => `(${prefix})`).join('|')})`,
  'g',
)
const bodies = shapes.map(([kind, , body]) => ({ kind, pattern: new RegExp(body, 'y') }))

const marked = middles.map(([kind, left, mark, rest]) => ({
  kind,
  pattern: new RegExp(`${mark}(?<=(?:^|[^A-Za-z0-9]|bot)(${left})${mark})${rest}`, 'g'),
}))

/** A rejected run up to this length is searched again behind its prefix: a real token may follow a placeholder. */
const SEARCH_AGAIN = 200

// At the start of a run, a header of any length; behind a name that is glued to it (`session-eyJ…`), one of an ordinary
// length: each `eyJ` of a long run would scan the rest of it again.
const JWT =
  /eyJ(?:(?<=(?:^|[^A-Za-z0-9_-])_{0,2}eyJ)[A-Za-z0-9_-]{8,}|(?<=[_-]eyJ)[A-Za-z0-9_-]{8,400})\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}/g

/** JSON that was encoded as a whole, such as a registry's configuration: what it holds says whether it is a secret. */
const ENCODED_JSON = /eyJ(?<=(?:^|[^A-Za-z0-9+/_-])eyJ)[A-Za-z0-9+/_-]{30,}={0,2}(?!\.)/g
const SECRET_MEMBER =
  /"(?:auth|password|passwd|secret|token|private_?key|api_?key|secret_?key|client_?secret)"\s*:\s*"[^"]/i

const HASHES: { kind: Kind; pattern: RegExp }[] = [
  // bcrypt, apr1, crypt(3), argon2, and the schemes of LDAP: what htpasswd, shadow and user tables hold.
  { kind: 'password-hash', pattern: /\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,}/g },
  { kind: 'password-hash', pattern: /\$(?:apr1|1|5|6|7|y|gy|sha1|md5)\$[./A-Za-z0-9=,$]{16,}/g },
  { kind: 'password-hash', pattern: /\$(?:argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]{0,10})\$[./A-Za-z0-9+=,$-]{20,}/g },
  { kind: 'password-hash', pattern: /\{(?:SSHA|SHA|SMD5|CRYPT)\d{0,3}\}[A-Za-z0-9+/=$.]{16,}/g },
  { kind: 'password-hash', pattern: /\bpbkdf2_sha\d{1,3}\$\d{1,8}\$[A-Za-z0-9+/=$]{20,}/g },
]

export function findTokens(text: string): Secret[] {
  const found = shaped(text)
  for (const { kind, pattern } of marked) {
    for (const match of text.matchAll(pattern)) {
      const { start, end } = place(match)
      found.push({ kind, start: start - (match[1] ?? '').length, end })
    }
  }
  for (const match of text.matchAll(JWT)) found.push({ kind: 'jwt', ...place(match) })
  for (const match of text.matchAll(ENCODED_JSON)) {
    if (SECRET_MEMBER.test(Buffer.from(match[0], 'base64').toString('latin1')))
      found.push({ kind: 'secret', ...place(match) })
  }
  for (const { kind, pattern } of HASHES) {
    for (const match of text.matchAll(pattern)) found.push({ kind, ...place(match) })
  }
  return found
}

function shaped(text: string): Secret[] {
  const found: Secret[] = []
  PREFIX.lastIndex = 0
  for (let hit = PREFIX.exec(text); hit; hit = PREFIX.exec(text)) {
    const shape = bodies[hit.findIndex((group, at) => at > 0 && group !== undefined) - 1]
    if (!shape) continue
    shape.pattern.lastIndex = PREFIX.lastIndex
    const body = shape.pattern.exec(text)?.[0]
    if (body === undefined) continue
    const real = !isPlaceholder(body) && !isIdentifier(body)
    if (real) found.push({ kind: shape.kind, start: hit.index, end: shape.pattern.lastIndex })
    if (real || body.length > SEARCH_AGAIN) PREFIX.lastIndex = shape.pattern.lastIndex
  }
  return found
}

/** `npm_config_registry_url`, `fw_handleRequestTimeout`: names that begin like a token. Random capitals read as words too. */
function isIdentifier(body: string): boolean {
  if (/^[a-z]+(?:[_-](?:[a-z]+|\d{1,4}))+$/.test(body)) return true
  const humps = body.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []
  return !/\d|^[A-Z]+$/.test(body) && humps.every((hump) => hump.length >= 3) && isWordy(body)
}

function place(match: RegExpExecArray): { start: number; end: number } {
  return { start: match.index, end: match.index + match[0].length }
}
