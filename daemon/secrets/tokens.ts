/** Finds credentials that need no context: the issuers' own shapes, JSON web tokens, and hashed passwords. */
import { isPlaceholder, isWordy, type Kind } from './credential.ts'
import type { Secret } from './detect.ts'

/** `body`: the least that must follow one of the prefixes. */
export type Shape = readonly [kind: Kind, prefixes: string, body: string]

const ALNUM = '[A-Za-z0-9]'
const WORD = '[A-Za-z0-9_]'
const URL64 = '[A-Za-z0-9_-]'
const BASE64 = '[A-Za-z0-9+/]'
const HEX = '[0-9a-fA-F]'
const each = (before: string, one: string, after: string) => [...one].map((each) => before + each + after).join(' ')
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

export const shapes: readonly Shape[] = [
  ['github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', `${WORD}{20,}`],
  ['github-token', 'github_pat_', `${WORD}{20,}`],
  [
    'gitlab-token',
    'glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glffct- glwt-',
    `${URL64}{16,}(?:\\.${URL64}{2,40}){0,3}`,
  ],
  ['slack-token', each('xox', LETTERS, '-'), `[A-Za-z0-9-]{10,}`],
  ['slack-token', each('xox', LETTERS, '.xox'), `[a-z]-[A-Za-z0-9-]{10,}`],
  ['slack-token', 'xapp- xwfp-', `[A-Za-z0-9-]{10,}`],
  ['webhook', 'hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/', `[A-Za-z0-9_/+-]{20,}`],
  ['webhook', 'discord.com/api/ discordapp.com/api/', `(?:v\\d{1,2}/)?webhooks/\\d{15,22}/${URL64}{30,}`],
  ['webhook', 'webhook.office.com/webhookb2/', `[A-Za-z0-9@/_-]{30,}`],
  ['webhook', 'hooks.zapier.com/hooks/catch/', `[A-Za-z0-9/]{10,}`],
  ['stripe-key', 'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_', `${WORD}{16,}`],
  ['stripe-key', 'whsec_', `[A-Za-z0-9+/=_-]{24,}`],
  ['payment-key', 'sq0atp- sq0csp- sq0idp-', `${URL64}{20,}`],
  ['payment-key', 'access_token$production$ access_token$sandbox$', `[a-z0-9$]{24,}`],
  ['payment-key', 'rzp_live_ rzp_test_', `${ALNUM}{14,}`],
  ['payment-key', 'FLWSECK- FLWSECK_TEST-', `${URL64}{12,}`],
  ['shopify-token', 'shpat_ shpca_ shppa_ shpss_ shptka_ shpua_', `${ALNUM}{24,}`],
  ['google-key', 'AIza', `${URL64}{30,}`],
  ['google-key', 'GOCSPX-', `${URL64}{20,}`],
  ['google-key', 'ya29.', `[A-Za-z0-9_.-]{20,}`],
  ['google-key', '1//0', `${URL64}{30,}`],
  ['google-key', 'AQ.', `${URL64}{40,}`],
  ['google-key', 'AAAA', `${URL64}{7}:${URL64}{100,}`],
  ['openai-key', 'sk-proj- sk-svcacct- sk-admin- sk-None- sk-service-', `${URL64}{20,}`],
  ['anthropic-key', 'sk-ant-', `${URL64}{16,}`],
  ['ai-key', 'sk-or- sk-lf- sk-kimi- sk-cp- sk-litellm-', `${URL64}{20,}`],
  ['openai-key', 'sk-', `${ALNUM}{20,}`],
  ['huggingface-token', 'hf_ api_org_', `${ALNUM}{24,}`],
  ['ai-key', `gsk_ r8_ pcsk_ fw_ csk_ jina_ lsv2_pt_ lsv2_sk_ ${each('key_v', '0123456789', '_')}`, `${WORD}{24,}`],
  ['ai-key', 'xai- pplx- tvly- nvapi- fc- exa-', `${URL64}{24,}`],
  ['ai-key', 'sk_', `${HEX}{32,}`],
  ['npm-token', 'npm_', `${WORD}{30,}`],
  ['pypi-token', 'pypi-', `${URL64}{40,}`],
  ['package-token', 'rubygems_', `${HEX}{32,}`],
  ['package-token', 'dckr_pat_ dckr_oat_', `${URL64}{20,}`],
  ['package-token', 'oy2', `(?<![/+]oy2)[a-z0-9]{43}(?![A-Za-z0-9+/=])`],
  ['package-token', 'cio', `(?<![/+]cio)${ALNUM}{32}(?![A-Za-z0-9+/=])`],
  ['digitalocean-token', 'doo_v1_ dop_v1_ dor_v1_ dot_v1_', `${HEX}{32,}`],
  ['aws-access-key-id', 'AKIA ASIA ABIA ACCA', `[A-Z0-9]{16,}`],
  ['aws-session-token', 'IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz', `[A-Za-z0-9+/=]{40,}`],
  ['aws-secret-key', 'ABSK bedrock-api-key-', `[A-Za-z0-9+/=]{60,}`],
  ['azure-key', 'AccountKey= SharedAccessKey=', `${BASE64}{30,}={0,2}`],
  ['discord-token', 'mfa.', `${URL64}{60,}`],
  ['twilio-key', 'SK AC', `[0-9a-f]{32}`],
  ['sendgrid-key', 'SG.', `${URL64}{16,64}\\.${URL64}{16,}`],
  ['mail-key', 'key-', `(?<![_-]key-)[0-9a-f]{32}`],
  ['mail-key', 'xkeysib-', `${URL64}{40,}`],
  ['mail-key', 're_', `${ALNUM}{8}_${ALNUM}{16,}`],
  ['vault-token', 'hvs. hvb. hvr.', `${URL64}{24,}`],
  ['vault-token', 'ops_', `eyJ${BASE64}{40,}={0,2}`],
  ['vault-token', 'A3-', `[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,5}[A-Z0-9]{5}`],
  ['vault-token', 'dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.', `[A-Za-z0-9_.-]{24,}`],
  ['private-key', 'AGE-SECRET-KEY-1', `[A-Z0-9]{40,}`],
  ['private-key', 'xprv', `${ALNUM}{80,}`],
  [
    'cloud-token',
    'HRKU- NRAK- NRJS- NRII- PMAK- CFPAT- CCIPAT- tskey-auth- tskey-api- tskey-client- pul- FLY-',
    `${URL64}{20,}`,
  ],
  [
    'cloud-token',
    'nfp_ rnd_ sbp_ sgp_ bkua_ phx_ figd_ ntn_ tfp_ aio_ glsa_ glc_ CCIPAT_ sb_secret_ vcp_ vcc_ vci_ vca_ vcr_ vck_',
    `[A-Za-z0-9_+/=-]{20,}`,
  ],
  [
    'cloud-token',
    'pscale_tkn_ pscale_pw_ pscale_oauth_ sntrys_ sntryu_ lin_api_ lin_oauth_ fm1_ fm2_',
    `[A-Za-z0-9_+/=.-]{24,}`,
  ],
  ['cloud-token', 'secret_', `${ALNUM}{40,}`],
  ['cloud-token', 'dapi', `${HEX}{32}(?:-\\d)?`],
  ['cloud-token', 'ATATT3 ATCTT3 ATBB ATOA', `[A-Za-z0-9_=-]{24,}`],
  ['cloud-token', 'LTAI AKID', `${ALNUM}{16,}`],
  ['cloud-token', 'sha256~', `${URL64}{40,}`],
  ['cloud-token', 'pat', `${ALNUM}{14}\\.${HEX}{40,}`],
  ['cloud-token', 'EAA', `(?<![/+]EAA)${ALNUM}{60,}`],
  ['cloud-token', 'sl.', `(?:u\\.)?${URL64}{80,}`],
  ['cloud-token', 'sk.eyJ', `${URL64}{20,}\\.${URL64}{10,}`],
  ['cloud-token', '00D', `${ALNUM}{12,15}![A-Za-z0-9._]{60,}`],
  ['cloud-token', 'v1.', `[0-9a-f]{40}`],
]

const middles: readonly (readonly [kind: Kind, left: string, mark: string, rest: string])[] = [
  ['telegram-token', '\\d{8,10}', ':AA', `${URL64}{30,}`],
  ['discord-token', '[MNO][A-Za-z0-9_-]{23,27}', '\\.', `${URL64}{6}\\.${URL64}{27,}`],
  ['azure-key', '[A-Za-z0-9_~.-]{3}\\d', 'Q~', '[A-Za-z0-9_~.-]{31,}'],
  ['mail-key', '[0-9a-f]{32}', '-us', '\\d{1,2}'],
  ['cloud-token', `${ALNUM}{14}`, '\\.atlasv1\\.', `${URL64}{40,}`],
]

const bodies = new Map(
  shapes.flatMap(([kind, prefixes, body]) => {
    const shape = { kind, pattern: new RegExp(body, 'y') }
    return prefixes.split(' ').map((prefix) => [prefix, shape] as const)
  }),
)
// One pass finds every prefix at the start of a word, of two the longer one; seventy passes cost five times more.
const PREFIX = new RegExp(
  `(?<![A-Za-z0-9])(?:${[...bodies.keys()]
    .sort((a, b) => b.length - a.length)
    .map((prefix) => prefix.replace(/[.$]/g, '\\$&'))
    .join('|')})`,
  'g',
)

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

/** bcrypt, apr1, crypt(3), argon2, and the schemes of LDAP: what htpasswd, shadow and user tables hold. */
const HASHES = [
  /\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,}/g,
  /\$(?:apr1|1|5|6|7|y|gy|sha1|md5)\$[./A-Za-z0-9=,$]{16,}/g,
  /\$(?:argon2(?:id?|d)|scrypt|pbkdf2[a-z0-9-]{0,10})\$[./A-Za-z0-9+=,$-]{20,}/g,
  /\{(?:SSHA|SHA|SMD5|CRYPT)\d{0,3}\}[A-Za-z0-9+/=$.]{16,}/g,
  /\bpbkdf2_sha\d{1,3}\$\d{1,8}\$[A-Za-z0-9+/=$]{20,}/g,
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
  for (const pattern of HASHES)
    for (const match of text.matchAll(pattern)) found.push({ kind: 'password-hash', ...place(match) })
  return found
}

function shaped(text: string): Secret[] {
  const found: Secret[] = []
  PREFIX.lastIndex = 0
  for (let hit = PREFIX.exec(text); hit; hit = PREFIX.exec(text)) {
    const shape = bodies.get(hit[0])
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

/** Credentials without a shape of their own, known by what stands near them. */
type Neighbour = { kind: Kind; value: RegExp; context: RegExp; reach: number; isReal: (value: string) => boolean }

// Bounded by lookaround, so that a long run of the same characters fails at once.
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
