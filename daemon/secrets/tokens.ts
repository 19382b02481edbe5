/** Finds credentials that need no context: the issuers' own shapes, JSON web tokens, and hashed passwords. */

import { isPlaceholder, isWordy, type Kind } from './credential.ts'
import type { Secret } from './detect.ts'

/**
 * Credentials that give themselves away by their first characters, as their issuers document them. A shape is a prefix
 * and the least that must follow; longer is always taken whole, so that a new length never leaves a tail behind.
 */

/** Prefix and body are regular expressions; a body has no condition at its end, which keeps every scan linear. */
export type Shape = readonly [kind: Kind, prefix: string, body: string]

const ALNUM = '[A-Za-z0-9]'
const WORD = '[A-Za-z0-9_]'
const URL64 = '[A-Za-z0-9_-]'
const BASE64 = '[A-Za-z0-9+/]'
const HEX = '[0-9a-fA-F]'

export const shapes: readonly Shape[] = [
  ['github-token', 'gh[pousr]_', `${WORD}{20,}`],
  ['github-token', 'github_pat_', `${WORD}{20,}`],
  [
    'gitlab-token',
    'gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct|wt)-',
    `${URL64}{16,}(?:\\.${URL64}{2,40}){0,3}`,
  ],
  ['slack-token', 'xox[a-z]-', `[A-Za-z0-9-]{10,}`],
  ['slack-token', 'xox[a-z]\\.xox[a-z]-', `[A-Za-z0-9-]{10,}`],
  ['slack-token', 'x(?:app|wfp)-', `[A-Za-z0-9-]{10,}`],
  ['webhook', 'hooks\\.slack\\.com/(?:services|workflows|triggers)/', `[A-Za-z0-9_/+-]{20,}`],
  ['webhook', 'discord(?:app)?\\.com/api/(?:v\\d{1,2}/)?webhooks/', `\\d{15,22}/${URL64}{30,}`],
  ['webhook', 'webhook\\.office\\.com/webhookb2/', `[A-Za-z0-9@/_-]{30,}`],
  ['webhook', 'hooks\\.zapier\\.com/hooks/catch/', `[A-Za-z0-9/]{10,}`],
  ['stripe-key', '[sr]k_(?:live|test|prod)_', `${WORD}{16,}`],
  ['stripe-key', 'whsec_', `[A-Za-z0-9+/=_-]{24,}`],
  ['payment-key', 'sq0(?:atp|csp|idp)-', `${URL64}{20,}`],
  ['payment-key', 'access_token\\$(?:production|sandbox)\\$', `[a-z0-9$]{24,}`],
  ['payment-key', 'rzp_(?:live|test)_', `${ALNUM}{14,}`],
  ['payment-key', 'FLWSECK(?:_TEST)?-', `${URL64}{12,}`],
  ['shopify-token', 'shp(?:at|ca|pa|ss|tka|ua)_', `${ALNUM}{24,}`],
  ['google-key', 'AIza', `${URL64}{30,}`],
  ['google-key', 'GOCSPX-', `${URL64}{20,}`],
  ['google-key', 'ya29\\.', `[A-Za-z0-9_.-]{20,}`],
  ['google-key', '1//0', `${URL64}{30,}`],
  ['google-key', 'AQ\\.', `${URL64}{40,}`],
  ['google-key', 'AAAA[A-Za-z0-9_-]{7}:', `${URL64}{100,}`],
  ['openai-key', 'sk-(?:proj|svcacct|admin|None|service)-', `${URL64}{20,}`],
  ['anthropic-key', 'sk-ant-', `${URL64}{16,}`],
  ['ai-key', 'sk-(?:or|lf|kimi|cp|litellm)-', `${URL64}{20,}`],
  ['openai-key', 'sk-', `${ALNUM}{20,}`],
  ['huggingface-token', '(?:hf|api_org)_', `${ALNUM}{24,}`],
  ['ai-key', '(?:gsk|r8|pcsk|fw|csk|jina|lsv2_(?:pt|sk)|key_v\\d)_', `${WORD}{24,}`],
  ['ai-key', '(?:xai|pplx|tvly|nvapi|fc|exa)-', `${URL64}{24,}`],
  ['ai-key', 'sk_', `${HEX}{32,}`],
  ['npm-token', 'npm_', `${WORD}{30,}`],
  ['pypi-token', 'pypi-', `${URL64}{40,}`],
  ['package-token', 'rubygems_', `${HEX}{32,}`],
  ['package-token', 'dckr_[po]at_', `${URL64}{20,}`],
  ['package-token', '(?<![/+])oy2', `[a-z0-9]{43}(?![A-Za-z0-9+/=])`],
  ['package-token', '(?<![/+])cio', `${ALNUM}{32}(?![A-Za-z0-9+/=])`],
  ['digitalocean-token', 'do[oprt]_v1_', `${HEX}{32,}`],
  ['aws-access-key-id', '(?:AKIA|ASIA|ABIA|ACCA)', `[A-Z0-9]{16,}`],
  ['aws-session-token', '(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)', `[A-Za-z0-9+/=]{40,}`],
  ['aws-secret-key', '(?:ABSK|bedrock-api-key-)', `[A-Za-z0-9+/=]{60,}`],
  ['azure-key', '(?:AccountKey|SharedAccessKey)=', `${BASE64}{30,}={0,2}`],
  ['discord-token', 'mfa\\.', `${URL64}{60,}`],
  ['twilio-key', '(?:SK|AC)', `[0-9a-f]{32}`],
  ['sendgrid-key', 'SG\\.', `${URL64}{16,64}\\.${URL64}{16,}`],
  ['mail-key', '(?<![_-])key-', `[0-9a-f]{32}`],
  ['mail-key', 'xkeysib-', `${URL64}{40,}`],
  ['mail-key', 're_', `${ALNUM}{8}_${ALNUM}{16,}`],
  ['vault-token', 'hv[sbr]\\.', `${URL64}{24,}`],
  ['vault-token', 'ops_', `eyJ${BASE64}{40,}={0,2}`],
  ['vault-token', 'A3-', `[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,5}[A-Z0-9]{5}`],
  ['vault-token', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.', `[A-Za-z0-9_.-]{24,}`],
  ['private-key', 'AGE-SECRET-KEY-1', `[A-Z0-9]{40,}`],
  ['private-key', 'xprv', `${ALNUM}{80,}`],
  ['cloud-token', '(?:HRKU|NRAK|NRJS|NRII|PMAK|CFPAT|CCIPAT|tskey-(?:auth|api|client)|pul|FLY)-', `${URL64}{20,}`],
  [
    'cloud-token',
    '(?:nfp|rnd|sbp|sgp|bkua|phx|figd|ntn|tfp|aio|glsa|glc|CCIPAT|sb_secret|vc[pciark])_',
    `[A-Za-z0-9_+/=-]{20,}`,
  ],
  ['cloud-token', '(?:pscale_(?:tkn|pw|oauth)|sntry[su]|lin_(?:api|oauth)|fm[12])_', `[A-Za-z0-9_+/=.-]{24,}`],
  ['cloud-token', 'secret_', `${ALNUM}{40,}`],
  ['cloud-token', 'dapi', `${HEX}{32}(?:-\\d)?`],
  ['cloud-token', '(?:ATATT3|ATCTT3|ATBB|ATOA)', `[A-Za-z0-9_=-]{24,}`],
  ['cloud-token', '(?:LTAI|AKID)', `${ALNUM}{16,}`],
  ['cloud-token', 'sha256~', `${URL64}{40,}`],
  ['cloud-token', 'pat[A-Za-z0-9]{14}\\.', `${HEX}{40,}`],
  ['cloud-token', '(?<![/+])EAA', `${ALNUM}{60,}`],
  ['cloud-token', 'sl\\.(?:u\\.)?', `${URL64}{80,}`],
  ['cloud-token', 'sk\\.eyJ', `${URL64}{20,}\\.${URL64}{10,}`],
  ['cloud-token', '00D[A-Za-z0-9]{12,15}!', `[A-Za-z0-9._]{60,}`],
  ['cloud-token', 'v1\\.', `[0-9a-f]{40}`],
]

/** What stands out in the middle: left part, mark, rest. Looked for by its mark, which is rarer than its start. */
export const middles: readonly (readonly [kind: Kind, left: string, mark: string, rest: string])[] = [
  ['telegram-token', '\\d{8,10}', ':AA', `${URL64}{30,}`],
  ['discord-token', '[MNO][A-Za-z0-9_-]{23,27}', '\\.', `${URL64}{6}\\.${URL64}{27,}`],
  ['azure-key', '[A-Za-z0-9_~.-]{3}\\d', 'Q~', '[A-Za-z0-9_~.-]{31,}'],
  ['mail-key', '[0-9a-f]{32}', '-us', '\\d{1,2}'],
  ['cloud-token', `${ALNUM}{14}`, '\\.atlasv1\\.', `${URL64}{40,}`],
]

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

// Credentials without a shape of their own, known by what stands near them.

type Neighbour = { kind: Kind; value: RegExp; context: RegExp; reach: number; isReal: (value: string) => boolean }

// Both ends are bounded by lookaround, so a long run of the same characters fails at once instead of sliding along it.
const neighbours: Neighbour[] = [
  {
    kind: 'aws-secret-key',
    value: /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])/g,
    context: /aws|amazon|\bs3\b|AKIA|ASIA|secret.?access|access.?key|bedrock/i,
    reach: 160,
    // A commit id is forty characters too, but hexadecimal; a path of forty is made of words.
    isReal: (value) => /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value) && !isWordy(value),
  },
  {
    kind: 'twilio-key',
    value: /(?<![A-Za-z0-9])[0-9a-f]{32}(?![A-Za-z0-9])/g,
    context: /[Tt]wilio|TWILIO|\b(?:AC|SK)[0-9a-f]{32}/,
    reach: 120,
    isReal: () => true,
  },
  {
    kind: 'cloud-token',
    value: /(?<![A-Za-z0-9])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![A-Za-z0-9])/g,
    context: /heroku.{0,20}(?:api|key|token|auth)|(?:api|key|token).{0,20}heroku/i,
    reach: 60,
    isReal: () => true,
  },
  {
    kind: 'vault-token',
    value: /(?<![A-Za-z0-9])s\.[A-Za-z0-9]{24}(?![A-Za-z0-9])/g,
    context: /vault/i,
    reach: 120,
    isReal: (value) => /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value),
  },
  {
    kind: 'private-key',
    value: /(?<![A-Za-z0-9])(?:0x)?[0-9a-fA-F]{64}(?![A-Za-z0-9])/g,
    context: /private.?key|wallet.?key|secp256k1.?secret/i,
    reach: 40,
    isReal: () => true,
  },
]

const SEED_PHRASE =
  /\b(?:mnemonic|seed[ _-]?phrase|recovery[ _-]?phrase|seed[ _-]?words|wallet[ _-]?seed)\b[^\n]{0,40}?[:=]\s{0,4}["'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})/gi

export function findNearby(text: string): Secret[] {
  const found: Secret[] = []
  for (const { kind, value, context, reach, isReal } of neighbours) {
    if (!context.test(text)) continue
    for (const match of text.matchAll(value)) {
      const end = match.index + match[0].length
      if (isPlaceholder(match[0]) || !isReal(match[0])) continue
      const before = text.slice(Math.max(0, match.index - reach), match.index)
      if (context.test(`${before}\n${text.slice(end, end + reach)}`)) found.push({ kind, start: match.index, end })
    }
  }
  for (const match of text.matchAll(SEED_PHRASE)) {
    const end = match.index + match[0].length
    found.push({ kind: 'seed-phrase', start: end - (match[1] ?? '').length, end })
  }
  return found
}

/** The characters with which whatever a regular expression matches begins. Pure. */

const MOST = 200

/**
 * One of these begins every match, whatever its case; they end where the pattern becomes too free to be spelled out. Knows
 * what prefixes are written with: characters, sets, alternatives, and looks behind, which it skips.
 */
export function beginningsOf(pattern: string): string[] {
  return [...new Set(spell(pattern).map(({ text }) => text.toLowerCase()))]
}

type Spelled = { text: string; state: 'open' | 'ended' }

function spell(pattern: string): Spelled[] {
  let spelled: Spelled[] = [{ text: '', state: 'open' }]
  for (let rest = pattern; rest !== '' && spelled.some(({ state }) => state === 'open'); ) {
    const { options, length } = partOf(rest)
    rest = rest.slice(length)
    const next = spelled.flatMap((before) =>
      before.state === 'ended'
        ? [before]
        : options.map(({ text, state }): Spelled => ({ text: before.text + text, state })),
    )
    if (next.length > MOST) break
    spelled = next
  }
  return spelled
}

const END: Spelled[] = [{ text: '', state: 'ended' }]

function partOf(rest: string): { options: Spelled[]; length: number } {
  const behind = /^\(\?<![^)]*\)/.exec(rest)?.[0]
  if (behind !== undefined) return { options: [{ text: '', state: 'open' }], length: behind.length }
  if (rest.startsWith('(?:')) {
    const end = closing(rest)
    const options = alternatives(rest.slice(3, end)).flatMap(spell)
    if (rest[end + 1] !== '?') return { options, length: end + 1 }
    return { options: [{ text: '', state: 'open' }, ...options], length: end + 2 }
  }
  const set = /^\[([^\]\\^-]+|[a-z]-[a-z])\](?![{*+?])/.exec(rest)
  if (set?.[1] !== undefined) return { options: charactersOf(set[1]).map(open), length: set[0].length }
  const escaped = /^\\[^A-Za-z0-9](?![{*+?])/.exec(rest)?.[0]
  if (escaped !== undefined) return { options: [open(escaped.slice(1))], length: 2 }
  const plain = /^[^\\[\](){}*+?.^$|](?![{*+?])/.exec(rest)?.[0]
  return plain === undefined ? { options: END, length: rest.length } : { options: [open(plain)], length: 1 }
}

function open(text: string): Spelled {
  return { text, state: 'open' }
}

function charactersOf(set: string): string[] {
  if (set.length !== 3 || set[1] !== '-') return [...set]
  const [first, last] = [set.charCodeAt(0), set.charCodeAt(2)]
  return Array.from({ length: last - first + 1 }, (_, n) => String.fromCharCode(first + n))
}

/** The bracket that closes the one at the start. */
function closing(rest: string): number {
  let depth = 0
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === '(') depth++
    if (rest[at] === ')' && --depth === 0) return at
  }
  return rest.length
}

function alternatives(inner: string): string[] {
  const parts = ['']
  let depth = 0
  for (const character of inner) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === '|' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}
