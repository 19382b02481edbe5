/**
 * Tells in one pass over a text which rules can find anything in it: every match of a rule holds one of its pieces. Looking for
 * each piece by itself would take as long as the rules. `test/secrets/prefilter.test.ts` checks that no piece is missing.
 */
import type { Starts } from './credential.ts'
import { shapes } from './tokens.ts'

type Seen = { bits: number; places: Place[] }
type Place = { bit: Bit; at: number }

/** What the pieces of a list set; each is a power of two. */
type Bit = number

/** Runs of so many letters and digits set `LONG_RUN`: keys and hashes, hardly ever a name. */
const RUN_CHARS = 32
export const LONG_RUN: Bit = 1 << 30
/** With dashes and underscores among them, fewer set `DASHED_RUN`. */
const DASHED_CHARS = 24
const FIRST_RUN_BIT = 29
export const DASHED_RUN: Bit = 1 << FIRST_RUN_BIT

const ALPHANUMERIC = /[A-Za-z0-9]/
const DASH = 1
const LETTER = 2
const WHITE_SPACE = [
  ...[0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
  ...Array.from({ length: 11 }, (_, n) => 0x2000 + n),
]
const NOTHING = 0

type Piece = { letters: string; bit: Bit; atStart: boolean }

/** A piece that begins with `^` counts only where no letter and no digit stands before it. A space is any white space. */
export function createHints(lists: readonly (readonly [Bit, readonly string[]])[], traced: Bit) {
  const classes = new Uint8Array(65_536)
  const runs = new Uint8Array(65_536)
  const all = lists.flatMap(([bit, pieces]) =>
    pieces.map((piece): Piece => ({ bit, letters: piece.replace(/^\^/, ''), atStart: piece.startsWith('^') })),
  )
  const count = classify(new Set(all.map(({ letters }) => letters).join('')), classes, runs)
  const { next, hits } = automaton(all, classes, count)

  return (text: string): Seen => {
    const places: Place[] = []
    let bits = runsIn(text, runs)
    let state = 0
    for (let end = 0; end < text.length; end++) {
      state = next[state + (classes[text.charCodeAt(end)] as number)] as number
      if (state >= 0) continue
      state = ~state
      for (const { letters, bit, atStart } of hits[state / count] as Piece[]) {
        const at = end - letters.length + 1
        if (atStart && at > 0 && runs[text.charCodeAt(at - 1)] === LETTER) continue
        bits |= bit
        if ((bit & traced) !== 0) places.push({ bit, at })
      }
    }
    return { bits, places }
  }
}

/** Looks backwards from where a run would be long enough: what ends it tells where the next may begin. */
function runsIn(text: string, runs: Uint8Array): number {
  const { length } = text
  let bits = 0
  for (let from = 0; from + DASHED_CHARS <= length; ) {
    let at = from + DASHED_CHARS - 1
    while (at >= from && runs[text.charCodeAt(at)] !== 0) at--
    if (at < from) {
      bits |= DASHED_RUN
      at = from
      for (let letters = 0; at < length && runs[text.charCodeAt(at)] !== 0; at++) {
        letters = runs[text.charCodeAt(at)] === LETTER ? letters + 1 : 0
        if (letters === RUN_CHARS) bits |= LONG_RUN
      }
    }
    from = at + 1
  }
  return bits
}

/** Every character that stands in a piece gets a number of its own, the same for both cases. */
function classify(characters: ReadonlySet<string>, classes: Uint8Array, runs: Uint8Array): number {
  let count = NOTHING + 1
  for (const character of characters) {
    classes[character.charCodeAt(0)] = count
    const upper = character.toUpperCase()
    if (upper.length === 1) classes[upper.charCodeAt(0)] = count
    count++
  }
  for (const code of WHITE_SPACE) classes[code] = classes[0x20] as number
  for (let code = 0; code < 128; code++) if (ALPHANUMERIC.test(String.fromCharCode(code))) runs[code] = LETTER
  for (const character of '-_') runs[character.charCodeAt(0)] = DASH
  return count
}

/**
 * The automaton of Aho and Corasick: each character leads to the longest beginning of a piece that was just read. A state is the
 * index of its row, or the complement of that where a piece ends.
 */
function automaton(pieces: readonly Piece[], classes: Uint8Array, count: number) {
  const most = pieces.reduce((sum, { letters }) => sum + letters.length, 1)
  const next = new Int32Array(most * count)
  const hits: (readonly Piece[])[] = [[]]
  let unread = pieces.map((piece) => ({ piece, row: 0 }))
  for (let length = 1; unread.length > 0; length++) {
    const made: { edge: number; row: number; shorter: number }[] = []
    const firstRow = hits.length * count
    for (const one of unread) {
      const edge = one.row + (classes[one.piece.letters.charCodeAt(length - 1)] as number)
      const known = next[edge] as number
      one.row = known < 0 ? ~known : known
      // This edge still points to the row of a shorter prefix: make a row of its own.
      if (one.row < firstRow) {
        const shorter = one.row
        one.row = hits.push(hits[shorter / count] as Piece[]) * count - count
        made.push({ edge, row: one.row, shorter })
        next[edge] = one.row
      }
      if (one.piece.letters.length === length)
        hits[one.row / count] = [...(hits[one.row / count] as Piece[]), one.piece]
    }
    for (const { edge, row } of made) if (hits[row / count]?.length !== 0) next[edge] = ~row
    // By now the rows of all shorter beginnings are complete.
    for (const { row, shorter } of made) next.copyWithin(row, shorter, shorter + count)
    unread = unread.filter(({ piece }) => piece.letters.length > length)
  }
  return { next, hits }
}

export type Detector =
  | 'private-keys'
  | 'tokens'
  | 'nearby'
  | 'urls'
  | 'headers'
  | 'commands'
  | 'password-files'
  | 'assignments'
  | 'escapes'

const words = (list: string) => list.split(' ')
const each = (list: string, ends: readonly string[]) => words(list).flatMap((word) => ends.map((end) => word + end))

/** A prefix of two letters says nothing, but what follows it is a long run. */
const prefixes = shapes.flatMap(([, all]) => words(all.toLowerCase()).filter((piece) => piece.length > 2))

const KEYS =
  'api access auth account encryption signing private master shared service session subscription license licence app application client admin deploy storage webhook consumer integration secret hmac ssh root aes enc hash cookie jwt rsa crypto cipher fernet vapid captcha pusher algolia firebase datadog sentry map maps openai stripe'

const pieces: Record<Detector | 'near-runs', readonly string[]> = {
  'private-keys': [
    ...['private key', 'private-lines', 'ibaakc', 'ibadanbgkqhkig9w0b', 'mhccaqeei', 'gbyqgsm49', 'mc4caqawbqydk2vw'],
    ...['b3blbnnzac1rzxktdje', 'ls0tls1crudjti', 'kty"', "kty'"],
  ],
  tokens: [
    ...[':aa', 'q~', '-us', '.atlasv1.', 'eyj', '$2', '$apr1$', '$1$', '$5$', '$6$', '$7$', '$y$', '$gy$', '$sha1$'],
    ...['$md5$', '$argon2', '$scrypt$', '$pbkdf2', '{ssha', '{sha', '{smd5', '{crypt', 'pbkdf2_sha'],
  ],
  nearby: words('aws amazon s3 akia asia access bedrock mnemonic seed recovery'),
  // Of use only beside a run of letters and digits. The others that are known by their neighbours are long runs.
  'near-runs': words('heroku vault'),
  urls: [
    '@',
    ...each('signature security-token credential', ['=']),
    ...each(
      'sig access_token refresh_token id_token auth_token private_token apikey api_key key token auth password passwd pwd client_secret secret code sid sessionid session_id jwt hmac st',
      ['='],
    ).flatMap((name) => ['?', '&', ';', '#'].map((before) => before + name)),
  ],
  headers: [
    ...each(
      'bearer basic token apikey api-key digest negotiate hawk aws4-hmac-sha256 sso-key splunk geniekey genie-key',
      [' ', '*'],
    ),
    ...['authorization', 'cookie'],
    ...each('auth', [':', '=', '"', "'", ' ']),
  ],
  commands: [
    ...[' -p', ' -u', ' --user', ' --proxy-user', ' -a', ' --auth', ' --pass', ' -w', ' -k', 'htpasswd', 'rabbitmqctl'],
    ...['freerdp', 'sqlplus', 'sudo', 'docker login', 'passwd', 'base64', '/user:', 'oracle:'],
    ...[' -b', ' --body', ' -v', ' --value'].flatMap((option) => [`${option} `, `${option}=`]),
    ...['credential', 'creds', 'login', 'log-in', 'user/pass', 'username/pass', 'net ', 'securestring'],
    ...each('auth', ['(', ' ', '=', ':']),
    ...['password ', '-passw', '-passphrase', '-pwd', '-secret', '-token', '-key', '-credential', 'identified'],
  ],
  'password-files': ['*:', ...words('0 1 2 3 4 5 6 7 8 9').map((digit) => `${digit}:`)],
  assignments: [
    ...['pass', 'kennwort', 'contrase', 'senha', 'wachtwoord', 'parola', 'masterauth', 'bindpw', 'psk', 'pwd', 'pw'],
    ...['пароль', '密码', '密碼', '口令', '授权码', 'パスワード', '비밀번호', '密钥', '秘钥', '私钥', '金鑰', '令牌'],
    ...['-key', 'secret', 'credential', 'creds', '-salt', '_salt'],
    ...['token', 'jwt', 'bearer', 'sessionid', 'session_id', 'session-id'],
    ...each('github gh gitlab azure ado ci', ['_pat', '-pat']),
    ...each(KEYS, ['key', ' key', '_key', '.key', '-key']),
  ],
  escapes: ['%', '\\', '&'],
}

export const presetPieces: Record<string, readonly string[]> = {
  aws: words('a3t akia agpa aida aroa aipa anpa anva asia secretaccess secret_access'),
  privatekey: ['private key'],
  slack: [...each('xoxa xoxb xoxo xoxp xoxr xapp', ['-']), 'hooks.slack.com'],
  shopify: ['shp'],
  github: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
  gitlab: ['glpat-'],
  grafana: ['glc_', 'glsa_'],
  openai: ['sk-'],
  anthropic: ['sk-ant-'],
  groq: ['gsk_'],
  huggingface: ['hf_'],
  linear: ['lin_api_'],
  notion: ['ntn_'],
  '1password': ['ops_'],
  'hashicorp-vault': ['hvs.', 'hvb.', 'hvr.'],
  vercel: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'],
  databricks: ['dapi'],
  docker: ['dckr_pat_'],
  figma: ['figd_'],
  stripe: ['k_live_', 'k_test_'],
  cloudflare: ['cfk_', 'cfut_', 'cfat_'],
  tailscale: ['tskey-'],
}

/** Discord's have no piece of their own but a dot behind a long run of letters. */
const DOTTED = /[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\./
const COLONS = /:(?:\d{2,5}|\*):[\w.*-]{1,64}:[\w.*@-]{1,64}:/

const named = Object.entries(pieces) as [keyof typeof pieces, readonly string[]][]
const bits = new Map<string, Bit>(named.map(([name], n) => [name, 1 << n]))
/** The bits above belong to runs. There are more rules than bits below: two rules that share one both run on the pieces of either. */
const presetBits = new Map<string, Bit>(
  Object.keys(presetPieces).map((name, n) => [name, 1 << (named.length + (n % (FIRST_RUN_BIT - named.length)))]),
)
const bitOf = (name: keyof typeof pieces) => bits.get(name) as Bit
const ANY_PRESET = [...presetBits.values()].reduce((all, bit) => all | bit, 0)
const ANY_OWN = [...bits.values()].reduce((all, bit) => all | bit, 0) & ~bitOf('near-runs')
const TOKENS = bitOf('tokens')
const NEARBY = bitOf('nearby')
const PASSWORD_FILES = bitOf('password-files')
const TRACED = bitOf('assignments') | bitOf('headers')

const hintsIn = createHints(
  [
    ...named.map(([name, list]) => [bitOf(name), list] as const),
    [TOKENS, prefixes.map((piece) => `^${piece}`)],
    ...Object.entries(presetPieces).map(([name, list]) => [presetBits.get(name) as Bit, list] as const),
  ],
  TRACED,
)

export type Needs = ReturnType<typeof needsOf>

export function needsOf(text: string) {
  const { bits: found, places } = hintsIn(text)
  const rules = ownRulesFor(found, text)
  return {
    ofPreset: (found & ANY_PRESET) !== 0,
    detector: (name: Detector) => (rules & bitOf(name)) !== 0,
    preset: (rule: string) => (found & (presetBits.get(rule) ?? 0)) !== 0,
    starts: (name: Detector): Starts => {
      const wanted = bitOf(name) & TRACED
      if (wanted === 0) return undefined
      const own = places.filter(({ bit }) => bit === wanted)
      return own.map(({ at }) => at).sort((one, other) => one - other)
    },
  }
}

function ownRulesFor(found: Bit, text: string): Bit {
  let rules = found & ANY_OWN
  if ((found & LONG_RUN) !== 0) rules |= TOKENS | NEARBY
  else if ((found & DASHED_RUN) !== 0) {
    if (DOTTED.test(text)) rules |= TOKENS
    if ((found & bitOf('near-runs')) !== 0) rules |= NEARBY
  }
  return (rules & PASSWORD_FILES) !== 0 && !COLONS.test(text) ? rules & ~PASSWORD_FILES : rules
}
