/**
 * What has to stand in a text before a rule can find anything in it: of every rule, pieces of which each of its matches holds
 * one. A rule of which nothing is said here runs on every text. `test/secrets/needs.test.ts` holds that nothing is missed.
 */
import { beginningsOf } from './beginnings.ts'
import type { Starts } from './from-starts.ts'
import { type Bit, createHints, DASHED_RUN, FIRST_RUN_BIT, type Hints, LONG_RUN } from './hints.ts'
import { shapes } from './token-shapes.ts'

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
const prefixes = () => shapes.flatMap(([, prefix]) => beginningsOf(prefix)).filter((piece) => piece.length > 2)

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

const presetPieces: Record<string, readonly string[]> = {
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

/** Made on first use: whoever starts the daemon does not wait for it. */
const hintsIn = onFirstUse(() =>
  createHints(
    [
      ...named.map(([name, list]) => [bitOf(name), list] as const),
      [TOKENS, prefixes().map((piece) => `^${piece}`)],
      ...Object.entries(presetPieces).map(([name, list]) => [presetBits.get(name) as Bit, list] as const),
    ],
    TRACED,
  ),
)

function onFirstUse(make: () => Hints): Hints {
  let made: Hints | undefined
  return (text) => {
    made ??= make()
    return made(text)
  }
}

export type Needs = {
  detector(name: Detector): boolean
  preset(rule: string): boolean
  /** Where the pieces of a rule begin, if that is all that it has to look at. */
  starts(name: Detector): Starts
}

/** Whether it is said here what a rule of the preset needs. */
export function isKnownOfPreset(rule: string): boolean {
  return presetPieces[rule] !== undefined
}

/** `none`: nothing of what any known rule needs; `ofPreset`: something of what a known rule of the preset does. */
export function needsOf(text: string): Needs & { none: boolean; ofPreset: boolean } {
  const { bits: found, places } = hintsIn(text)
  const rules = ownRulesFor(found, text)
  return {
    none: (rules | (found & ANY_PRESET)) === 0,
    ofPreset: (found & ANY_PRESET) !== 0,
    detector: (name) => (rules & bitOf(name)) !== 0,
    preset: (rule) => !isKnownOfPreset(rule) || (found & (presetBits.get(rule) as Bit)) !== 0,
    starts: (name) => {
      const wanted = bitOf(name) & TRACED
      if (wanted === 0) return undefined
      const starts: number[] = []
      for (const { bit, at } of places) if (bit === wanted) starts.push(at)
      return starts.sort((one, other) => one - other)
    },
  }
}

/** What of our own may find something, as the bits of its pieces. */
function ownRulesFor(found: Bit, text: string): Bit {
  let rules = found & ANY_OWN
  if ((found & LONG_RUN) !== 0) rules |= TOKENS | NEARBY
  else if ((found & DASHED_RUN) !== 0) {
    if (DOTTED.test(text)) rules |= TOKENS
    if ((found & bitOf('near-runs')) !== 0) rules |= NEARBY
  }
  return (rules & PASSWORD_FILES) !== 0 && !COLONS.test(text) ? rules & ~PASSWORD_FILES : rules
}
