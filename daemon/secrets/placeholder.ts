/** Decides whether a value only stands where a credential would: a variable, a mask, a word of a manual. Does no I/O. */

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

/** The head of a value tells enough, and keeps a hostile one from costing more than its length. */
const HEAD = 400

export function isPlaceholder(whole: string): boolean {
  const value = whole.slice(0, HEAD)
  const lower = value.toLowerCase()
  if (BARE_WORDS.has(lower) || !hasThree(lower)) return true
  if (MASKED.test(value) || /^(?:1234|abcd|qwer)$/.test(lower)) return true
  if (REFERENCES.some((reference) => reference.test(value))) return true
  return value.split(/[^A-Za-z0-9]+/).some(isStandIn)
}

/** Different characters; a mask is made of one or two. */
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
