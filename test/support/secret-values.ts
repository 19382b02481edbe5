/**
 * Makes fake credentials, one function per kind. Every tell-tale prefix is put together at run time: this repository
 * must hold no string that a scanner takes for a real secret.
 */
export type Random = () => number

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit)
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[below(random, items.length)] as T
}

export const LOWER = 'abcdefghijklmnopqrstuvwxyz'
export const DIGITS = '0123456789'
export const HEX = '0123456789abcdef'
export const ALNUM = `${LOWER}${LOWER.toUpperCase()}${DIGITS}`
export const URL64 = `${ALNUM}_-`
export const BASE64 = `${ALNUM}+/`

export function chars(random: Random, alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[below(random, alphabet.length)]).join('')
}

const glue = (...parts: string[]): string => parts.join('')

/** Characters that no issuer ends a token with would only test the sentence around it. */
function solid(random: Random, alphabet: string, length: number): string {
  return chars(random, ALNUM, 1) + chars(random, alphabet, length - 2) + chars(random, ALNUM, 1)
}

const WORDS = 'Summer Dragon Falcon Monday Winter Copper Harbor Velvet Thunder Orchid Pepper Saturn'.split(' ')
const MARKS = '!@#%^*-_+~?'

/** As people make them up, and as managers generate them. No quote, blank or separator: those belong to the carrier. */
export function password(random: Random): string {
  const made = [
    () => `${pick(random, WORDS)}${chars(random, DIGITS, 4)}${pick(random, [...'!@#*'])}`,
    () => `${pick(random, WORDS).toLowerCase()}${chars(random, DIGITS, 2)}`,
    () => `${pick(random, WORDS)}-${pick(random, WORDS)}-${chars(random, DIGITS, 3)}`,
    () =>
      `${pick(random, WORDS).replace(/[aeo]/, (vowel) => ({ a: '@', e: '3', o: '0' })[vowel] ?? vowel)}${chars(random, DIGITS, 2)}`,
    () =>
      `${chars(random, LOWER, 1)}${chars(random, ALNUM + MARKS, 12 + below(random, 12))}${chars(random, DIGITS, 1)}`,
    () => `${chars(random, ALNUM, 6)}${chars(random, DIGITS, 1)}${chars(random, ALNUM, 4 + below(random, 20))}`,
  ]
  return pick(random, made)()
}

function json64(random: Random, value: object): string {
  return Buffer.from(JSON.stringify({ ...value, n: chars(random, ALNUM, 6) })).toString('base64url')
}

function jwt(random: Random): string {
  const claims = {
    sub: chars(random, DIGITS, 8),
    name: pick(random, WORDS),
    iat: 1_700_000_000 + below(random, 9_000_000),
  }
  return [json64(random, { alg: 'HS256', typ: 'JWT' }), json64(random, claims), chars(random, URL64, 43)].join('.')
}

function keyBlock(random: Random, label: string, { cutOff }: { cutOff: boolean }): string {
  const first = label.includes('OPENSSH') ? glue('b3BlbnNzaC1r', 'ZXktdjEAAAAA') : glue('MII', 'EowIBAAKCAQEA')
  const lines = Array.from({ length: 6 + below(random, 20) }, () => chars(random, BASE64, 64))
  const body = [first + chars(random, BASE64, 64 - first.length), ...lines, `${chars(random, BASE64, 30)}==`]
  const frame = (word: string) => glue('-----', word, ' ', label, '-----')
  return [frame('BEGIN'), ...(cutOff ? body.slice(0, -1) : body), ...(cutOff ? [] : [frame('END')])].join('\n')
}

/** Kinds that give themselves away and may stand anywhere. */
export const freeStanding: Record<string, (random: Random) => string> = {
  github: (r) => glue('gh', pick(r, [...'pousr']), '_', chars(r, ALNUM, 36)),
  'github-fine-grained': (r) => glue('github', '_pat_', chars(r, ALNUM, 22), '_', chars(r, ALNUM, 59)),
  gitlab: (r) => glue('gl', 'pat-', solid(r, URL64, 20)),
  slack: (r) =>
    glue('xo', pick(r, ['xb', 'xp']), '-', chars(r, DIGITS, 12), '-', chars(r, DIGITS, 13), '-', chars(r, ALNUM, 24)),
  'slack-app': (r) =>
    glue('xa', 'pp-1-A', chars(r, ALNUM.toUpperCase(), 10), '-', chars(r, DIGITS, 13), '-', chars(r, HEX, 64)),
  stripe: (r) => glue(pick(r, ['sk', 'rk']), '_li', 've_', chars(r, ALNUM, 24 + below(r, 70))),
  'stripe-webhook': (r) => glue('wh', 'sec_', chars(r, ALNUM, 32)),
  'aws-access-key-id': (r) => glue(pick(r, ['AK', 'AS']), 'IA', chars(r, `${LOWER.toUpperCase()}234567`, 16)),
  'google-api-key': (r) => glue('AI', 'za', solid(r, URL64, 35)),
  'google-oauth': (r) => glue('GOC', 'SPX-', solid(r, URL64, 28)),
  openai: (r) => glue('sk', '-', chars(r, ALNUM, 20), 'T3Blbk', 'FJ', chars(r, ALNUM, 20)),
  'openai-project': (r) => glue('sk', '-proj-', solid(r, URL64, 74), 'T3Blbk', 'FJ', solid(r, URL64, 74)),
  anthropic: (r) => glue('sk', '-ant-', 'api03-', solid(r, URL64, 93), 'AA'),
  huggingface: (r) => glue('h', 'f_', chars(r, ALNUM, 34)),
  twilio: (r) => glue('S', 'K', chars(r, HEX, 32)),
  sendgrid: (r) => glue('S', 'G.', solid(r, URL64, 22), '.', solid(r, URL64, 43)),
  discord: (r) => glue(pick(r, [...'MNO']), chars(r, URL64, 24), '.', solid(r, URL64, 6), '.', solid(r, URL64, 38)),
  telegram: (r) => glue(pick(r, [...'123456789']), chars(r, DIGITS, 9), ':A', 'A', solid(r, URL64, 33)),
  npm: (r) => glue('np', 'm_', chars(r, ALNUM, 36)),
  pypi: (r) => glue('py', 'pi-AgEIcHlwaS5vcmc', solid(r, URL64, 120)),
  digitalocean: (r) => glue('do', 'p_v1_', chars(r, HEX, 64)),
  shopify: (r) => glue('shp', 'at_', chars(r, HEX, 32)),
  vault: (r) => glue('hv', 's.', solid(r, URL64, 95)),
  jwt,
  'password-hash': (r) => glue('$2', 'y$10$', chars(r, `${ALNUM}./`, 53)),
}

/** The part of a webhook's address that lets anyone post. */
export function slackHook(random: Random): { address: string; secret: string } {
  const part = (letter: string) => letter + chars(random, ALNUM.toUpperCase(), 9)
  const secret = `${part('T')}/${part('B')}/${chars(random, ALNUM, 24)}`
  return { address: glue('https://hooks.sl', 'ack.com/services/', secret), secret }
}

/** Several lines each; a carrier must leave the lines whole. */
export const blocks: Record<string, (random: Random) => string> = {
  'rsa-private-key': (r) => keyBlock(r, glue('RSA PRI', 'VATE KEY'), { cutOff: false }),
  'openssh-private-key': (r) => keyBlock(r, glue('OPENSSH PRI', 'VATE KEY'), { cutOff: false }),
  'pgp-private-key': (r) => keyBlock(r, glue('PGP PRI', 'VATE KEY BLOCK'), { cutOff: false }),
  'cut-off-private-key': (r) => keyBlock(r, glue('PRI', 'VATE KEY'), { cutOff: true }),
}
