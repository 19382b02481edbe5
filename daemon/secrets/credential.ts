/**
 * Decides whether a value beside a word like "password" is a credential, or a type, a name, a path, code or a word of a sentence.
 * Pure. `isGiven`, `isChosen` and `isRandom` differ in how much the place already says.
 */

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
  return { letter: /\p{L}/u.test(value), digit: /\d/.test(value), symbol: SYMBOL.test(inner) }
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

/** A closed list: only the marks of these kinds are left alone when a redacted text is redacted again. */
const kinds = [
  'ai-key',
  'anthropic-key',
  'api-key',
  'aws-access-key-id',
  'aws-secret-key',
  'aws-session-token',
  'azure-key',
  'basic-auth',
  'bearer-token',
  'cloud-token',
  'cookie',
  'digitalocean-token',
  'discord-token',
  'github-token',
  'gitlab-token',
  'google-key',
  'huggingface-token',
  'jwt',
  'mail-key',
  'npm-token',
  'openai-key',
  'package-token',
  'password',
  'password-hash',
  'payment-key',
  'private-key',
  'pypi-token',
  'secret',
  'seed-phrase',
  'sendgrid-key',
  'shopify-token',
  'slack-token',
  'stripe-key',
  'telegram-token',
  'token',
  'twilio-key',
  'url-password',
  'url-signature',
  'url-token',
  'vault-token',
  'webhook',
] as const

export type Kind = (typeof kinds)[number]

export function markOf(kind: Kind): string {
  return `[redacted:${kind}]`
}

export const MARK = new RegExp(`\\[redacted:(?:${kinds.join('|')})\\]`, 'g')

export function mayTouchMark(part: string): boolean {
  return /[[\]]/.test(part) || kinds.some((kind) => markOf(kind).includes(part))
}

/** Anywhere in a value, as a word of its own, these say that it is not real. */
const STAND_INS = new Set(
  (
    'example examples changeme changeit placeholder dummy sample redacted hidden masked omitted removed insert replace ' +
    'todo your yours notreal notasecret fixme censored'
  ).split(' '),
)

/** These are no credential when they are the whole value: literals, types, messages, and the words for the thing itself. */
const BARE_WORDS = new Set(
  (
    'password passwd passphrase passcode pass pwd pw secret secrets token tokens key apikey api-key api_key credential ' +
    'credentials creds user username login email none null nil undefined true false yes no on off empty blank default ' +
    'unset missing required optional invalid incorrect wrong expired weak strong short mismatch forgotten forgot reset ' +
    'string text varchar char boolean bool number integer int float bytes buffer object array any unknown never void ' +
    'uuid json date url uri enum readonly private public protected static const final async await function return new ' +
    'get set self this super bearer basic digest oauth oauth2 jwt oidc saml ldap mysecret mypassword mytoken my-secret ' +
    'my-password my-token foo bar baz foobar qux xxx abc n/a tbd see ask use enter type prompt stdin file env keychain ' +
    'vault rotated revoked stored encrypted hashed plain plaintext base64 hex utf8 utf-8 passed ' +
    'passing failed pending disabled enabled auto generated random somepassword somesecret sometoken secretpassword passw password: secret: token:'
  ).split(' '),
)

/** Values that a program fills in: shell, template, format and code references, secret-manager addresses. */
const REFERENCES = [
  /\$\{|\$\(|\{\{|\}\}|<%|%>|#\{|\$\[/,
  /^\$[A-Z_][A-Z0-9_]*$/,
  /^\$(?:env:|[a-z_]\w*$|[a-z_]\w*(?:->|\[))/,
  /^%[A-Za-z_][A-Za-z0-9_]*%?$/,
  /^%\(\w+\)s$/,
  /^<(?:[^<>]*>|[a-z ]*)$/i,
  /^\{(?:[^{}]*\}|[a-z ]*)$/i,
  /^\[(?:[^[\]]*\]|[a-z ]*)$/i,
  /^\([^()]*\)$/,
  /^&lt;/,
  /^(?:@\w+@|:\w+|\?|@\w+)$/,
  /^!(?:Ref|Sub|GetAtt|ImportValue|vault|secret|reference|env)\b/i,
  /^(?:op|vault|ref\+\w+|sm|secretsmanager|ssm|keyring|keychain|env|file|arn|projects|data|kms|sops|doppler|akv):\S/i,
  /\b(?:process\.env|import\.meta\.env|os\.(?:environ|getenv)|System\.getenv|getenv|ENV\[|Deno\.env|secrets\.[A-Z_]+|env\.[A-Z_]+)/,
  /^(?:var|local|data|module|each|self|this|req|request|res|config|settings|params|props|state|ctx|context|args|opts|options|user|body|input|form|event|payload|session|secrets|steps|inputs|needs|env)\.[A-Za-z_]/,
]

const MASKED = /^\*{3}|\*{3}$|\*{6}|•{3}|…|^.{0,16}\.{3}.{0,10}$|#{4}|x{5}|X{5}|0{12}|_{6}|█|EXAMPLE/

/** The rest of a hostile value is not looked at. */
const HEAD = 400

export function isPlaceholder(whole: string): boolean {
  const value = whole.slice(0, HEAD)
  const lower = value.toLowerCase()
  if (BARE_WORDS.has(lower) || !hasThree(lower)) return true
  if (MASKED.test(value) || /^(?:1234|abcd|qwer)$/.test(lower)) return true
  if (REFERENCES.some((reference) => reference.test(value))) return true
  return value.split(/[^A-Za-z0-9]+/).some(isStandIn)
}

/** A mask is made of one or two different characters. */
function hasThree(text: string): boolean {
  const seen: string[] = []
  for (const character of text) {
    if (seen.includes(character)) continue
    if (seen.push(character) === 3) return true
  }
  return false
}

/** In one case throughout, and the short ones whole: random characters spell `yOur` sooner or later. */
function isStandIn(part: string): boolean {
  if (STAND_INS.has(part.toLowerCase())) return isOneCase(part)
  return part.split(/\d+/).some((word) => word.length >= 6 && isOneCase(word) && STAND_INS.has(word.toLowerCase()))
}

function isOneCase(word: string): boolean {
  return /^[A-Z]?[a-z]+$|^[A-Z]+$/.test(word)
}

const WORD = /[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g
const VOWELS = /[aeiouy]/gi

/** Whether people wrote it: words joined by case, dashes, dots or a few digits. Random characters split into scraps. */
export function isWordy(value: string): boolean {
  const words = value.match(WORD) ?? []
  const letters = words.reduce((sum, word) => sum + word.length, 0)
  const digits = value.match(/\d/g)?.length ?? 0
  if (letters === 0 || digits * 4 > letters) return false
  // A name changes between letters and digits once or twice: `oauth2Token`, `v1beta2`.
  if ((value.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) > 3) return false
  const vowels = value.match(VOWELS)?.length ?? 0
  return letters / words.length >= 3.4 && vowels * 5 >= letters && !/[bcdfghjklmnpqrstvwxz]{5}/i.test(value)
}

function entropyBits(value: string): number {
  const counts = new Map<string, number>()
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1)
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return [...counts.values()].reduce((bits, count) => bits - (count / total) * Math.log2(count / total), 0)
}

/** Ascending places at which a piece of the pattern stands; without them the whole text is searched. */
export type Starts = readonly number[] | undefined

type Pattern = { anywhere: RegExp; here: RegExp }

export function pattern({ source, flags }: RegExp): Pattern {
  return { anywhere: new RegExp(source, flags), here: new RegExp(source, flags.replace('g', 'y')) }
}

/** `leads`: how many characters may stand in a match before its piece, the most first. */
export function* matchesFrom(
  text: string,
  { anywhere, here }: Pattern,
  starts: Starts,
  leads: readonly number[] = [0],
): Generator<RegExpExecArray> {
  if (!starts) return yield* text.matchAll(anywhere)
  let from = 0
  for (const start of starts)
    for (const lead of leads) {
      if (start - lead < from) continue
      here.lastIndex = start - lead
      const match = here.exec(text)
      if (!match) continue
      from = match.index + match[0].length
      yield match
      break
    }
}
