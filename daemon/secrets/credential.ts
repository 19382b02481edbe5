/**
 * Decides whether a value that stands beside a word like "password" is a credential, or a type, a name, a path, a piece
 * of code or a word of a sentence. Does no I/O. The three judges differ in how much the place already says.
 */
import { isPlaceholder } from './placeholder.ts'
import { entropyBits, isWordy } from './words.ts'

const FILE_NAME =
  /\.(?:pem|key|json|ya?ml|txt|md|[cm]?[jt]sx?|py|env|conf|cfg|ini|toml|sh|crt|cer|p12|pfx|gpg|asc|pub|log|html?|s?css|go|rs|java|kt|rb|php|sql|xml|svg|png|lock|example|local|sock)$/i
const PATH = /^(?:~|\.{1,2})?\/|^[A-Za-z]:\\|^[a-z][a-z0-9+.-]*:\/\//
const MEMBER = /^!{0,2}[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+[;,)]*$/
const CODE = /=>|::|\?\.|->|&&|\|\||\(\)|\[\]|^!{1,2}[A-Za-z_$]+$|^[A-Za-z_$][\w$]*\[|^[A-Za-z]+<[\w<>, |]+>$/
const QUANTITY = /^[\d.,:_/+-]+(?:[a-z%]{1,12}|(?:ms|min|sec|chars?|bytes?|bits?|days?|hours?)[a-z-]*)?$/i
const VERSION = /^[~^v=]*\d+\.\d+(?:\.\d+)?(?:[-+.][\w.-]+)?$/i
const MAIL = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/
const COLOUR = /^#[0-9a-f]{3,8}$/i
const TERM =
  /^(?:sha-?\d{1,3}|md[45]|base(?:16|32|58|62|64)(?:url)?|utf-?\d{1,2}|argon2(?:id?|d)?|pbkdf2|oauth-?[12](?:\.\d)?|(?:aes|rsa|ecdsa|des|hs|rs|es|ps|hmac-sha)-?\d{1,4}|x-?509|ed25519|x25519|secp\d{3}[kr]1|p-?(?:256|384|521)|https?\d?|ipv[46]|k8s|i18n|l10n|win(?:32|64)|x(?:64|86)|arm64|amd64|[12]fa|1password|log4j|web3|sec1|pkcs\d{1,2}|fido2|u2f|v\d{1,3}(?:alpha\d?|beta\d?)?|u?int\d{1,2}|float\d\d)(?:[-_/][a-z]*\d{0,3})*$/i
const SHAPES = [CODE, QUANTITY, VERSION, MAIL, COLOUR, TERM]
const SYMBOL = /[!@#$%^&*+=~?|\\€£§]/

function isSomethingElse(value: string): boolean {
  return isPath(value) || isMember(value) || isFile(value) || isCall(value) || SHAPES.some((shape) => shape.test(value))
}

/** Base64 may begin with a slash; the parts between its slashes do not look like names. */
function isPath(value: string): boolean {
  return PATH.test(value) && !value.split('/').some(isScrambled)
}

function isFile(value: string): boolean {
  return FILE_NAME.test(value) && !value.split(/[./-]/).some(isScrambled)
}

/** `req.body.password`, but not two random parts with a dot between them. */
function isMember(value: string): boolean {
  return MEMBER.test(value) && (value.match(/\d/g)?.length ?? 0) <= 3 && !value.split('.').some(isScrambled)
}

/** `getPassword(`, `base64(…)`; a generated password may hold a bracket too, but no word before it. */
function isCall(value: string): boolean {
  const name = /^!{0,2}([A-Za-z_$][\w.$]*)\(/.exec(value)?.[1]
  return name !== undefined && (/^[a-z_]+$|[a-z]\.[a-z]/.test(name) || TERM.test(name) || isWordy(name))
}

function isScrambled(part: string): boolean {
  return part.length >= 8 && /[a-z]/.test(part) && /[A-Z]/.test(part) && /\d/.test(part)
}

function has(value: string) {
  const inner = value.replace(/[!?.,;:)]+$/, '')
  return {
    letter: /\p{L}/u.test(value),
    digit: /\d/.test(value),
    symbol: SYMBOL.test(inner),
  }
}

/** Where only a credential can stand (a URL, an option, an environment line): all but a placeholder. */
export function isGiven(value: string): boolean {
  if (value.length < 3 || isPlaceholder(value)) return false
  return !isPath(value) && !isMember(value) && !isFile(value) && !isCall(value) && !CODE.test(value)
}

/** A password that a person may have chosen: letters with digits or symbols, and nothing that reads as code or prose. */
export function isChosen(value: string): boolean {
  if (value.length < 6 || isPlaceholder(value) || isSomethingElse(value)) return false
  const { letter, digit, symbol } = has(value)
  if (letter && (digit || symbol)) return !/^(?:new|old|my|user|the)?(?:password|token|secret|key)s?\d?$/i.test(value)
  if (!letter) return digit && symbol
  return value.length >= 8 && !isWordy(value) && /^[\w-]+$/.test(value)
}

/** A value that a machine made: long, of many different characters, and no name built from words. */
export function isRandom(value: string, { minChars = 16 } = {}): boolean {
  if (isHexKey(value)) return true
  if (value.length < minChars || isPlaceholder(value) || isSomethingElse(value)) return false
  if (!/^[A-Za-z0-9_.~+/=:|!@#$%^&*-]+$/.test(value) || isWordy(value)) return false
  const { letter, digit, symbol } = has(value)
  if (isNameWithNumbers(value)) return false
  return letter && (digit || symbol || value.length >= 20) && entropyBits(value.slice(0, 200)) >= 2.8
}

/** A key of 16 bytes or more. Its digits may happen to be decimal, or few different ones. */
function isHexKey(value: string): boolean {
  return /^[0-9a-f]{32,}$/i.test(value) && new Set(value.toLowerCase()).size >= 5 && !isPlaceholder(value)
}

/** `claude-3-5-sonnet-20241022`, `eu-west-1b`: words and numbers, each on its own side of a dash. */
function isNameWithNumbers(value: string): boolean {
  const parts = value.split(/[-_.:/]/)
  return (
    parts.length > 1 &&
    parts.every((part) => /^(?:[a-z]{0,20}|[A-Z]?[a-z]{1,20}|[A-Z]{1,20}|v?\d{1,8}[a-z]?)$/.test(part))
  )
}
