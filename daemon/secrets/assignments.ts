/** Finds credentials by the word that announces them: `password=…`, `apiKey: "…"`, "the token for staging is …". */
import { attach, type Bond } from './assignment-bonds.ts'
import { type Announced, findNames, type Name } from './assignment-names.ts'
import { endOf, readValue, type Value } from './assignment-values.ts'
import { isChosen, isGiven, isRandom } from './credential.ts'
import type { Secret } from './detect.ts'
import type { Starts } from './from-starts.ts'
import { isPlaceholder } from './placeholder.ts'
import { isWordy } from './words.ts'

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

/** A line of `name: value` among others of its kind: configuration, where the value can be any word. */
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

/** How far to look for the neighbouring lines. */
const LINE_CHARS = 300
