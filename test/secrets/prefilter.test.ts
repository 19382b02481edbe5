import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findSecrets, findWith } from '../../daemon/secrets/detect.ts'
import { createHints, DASHED_RUN, LONG_RUN, needsOf, presetPieces } from '../../daemon/secrets/prefilter.ts'
import { loadPreset } from '../../daemon/secrets/secretlint.ts'
import { shapes } from '../../daemon/secrets/tokens.ts'
import { harmlessSamples } from '../support/harmless-samples.ts'
import { secretSamples } from '../support/secret-samples.ts'
import { ALNUM, chars, HEX } from '../support/secret-values.ts'
import { seeded } from '../support/seed.ts'
import { sources } from '../support/sources.ts'

const everything = (text: string) =>
  findWith(text, () => ({ detector: () => true, preset: () => true, ofPreset: true, starts: () => undefined }))

/** Every word and sign that a rule is written with, so that random texts come close to all of them. */
const rulePieces = sources('daemon/secrets')
  .filter(({ path }) => !path.endsWith('needs.ts'))
  .flatMap(({ text }) => text.match(/[A-Za-z0-9]{2,}|[^\sA-Za-z0-9]|[\u0080-\uffff]+/g) ?? [])

const nearRules = fc
  .array(
    fc.oneof(
      fc.constantFrom(...new Set(rulePieces)),
      fc.constantFrom(' ', '\n', '=', ':', '-', '_', '"', "'", '@', '://', ' -p', '%3D', '\\u0070', '&quot;'),
      fc.stringMatching(/^[A-Za-z0-9+/_-]{8,44}$/),
      fc.stringMatching(/^[0-9a-f]{32,40}$/),
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(''))

const random = seeded('needs')
const V = chars(random, ALNUM, 24)
const hex = (count: number) => chars(random, HEX, count)
const glue = (...parts: string[]) => parts.join('')

/** The least that each form of a rule is made of, with nothing beside it that another piece would tell. */
const least: string[] = [
  ...['', 'DSA ', 'OPENSSH '].map((kind) =>
    glue('-----BEGIN ', kind, 'PRIV', 'ATE KEY-----\n', chars(random, ALNUM, 64)),
  ),
  glue('Private-', 'Lines: 2\n', chars(random, ALNUM, 60), '\n', chars(random, ALNUM, 60), '\n'),
  ...['MIIEpAIBAAKC', 'MIIEvAIBADANBgkqhkiG9w0B', 'MHcCAQEEI', 'MIGHAgEAMBMGByqGSM49', 'MC4CAQAwBQYDK2Vw'].map(
    (head) => head + chars(random, ALNUM, 40),
  ),
  ...['b3BlbnNzaC1rZXktdjE', 'LS0tLS1CRUdJTiBSU0EgUFJJVkFURS'].map((head) => head + chars(random, ALNUM, 40)),
  `{"kty": "RSA", "d": "${chars(random, ALNUM, 43)}"}`,
  `${chars(random, '123456789', 9)}:AA${chars(random, ALNUM, 33)}`,
  `M${chars(random, ALNUM, 23)}.${chars(random, ALNUM, 6)}.${chars(random, ALNUM, 27)}`,
  `a1B8Q~${chars(random, ALNUM, 34)}`,
  `${hex(32)}-us12`,
  `${chars(random, ALNUM, 14)}.atlasv1.${chars(random, ALNUM, 60)}`,
  `${glue('ey', 'J')}${chars(random, ALNUM, 20)}.${chars(random, ALNUM, 20)}.${chars(random, ALNUM, 20)}`,
  ...[
    '$2y$10$',
    '$apr1$',
    '$6$',
    '$y$',
    '$argon2id$',
    '$scrypt$',
    '$pbkdf2-x$',
    '{SSHA}',
    '{CRYPT}',
    'pbkdf2_sha256$600000$',
  ].map((head) => head + chars(random, ALNUM, 54)),
  ...['aws', 'amazon', 's3', 'bedrock'].map((near) => `${near} aB3${chars(random, ALNUM, 37)}`),
  `heroku api ${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
  `twilio ${hex(32)}`,
  `SK${hex(32)}`,
  `vault s.aB3${chars(random, ALNUM, 21)}`,
  `wallet key ${hex(64)}`,
  ...['mnemonic', 'seed phrase', 'recovery phrase'].map((name) => `${name}: ${'alpha bravo '.repeat(6)}`),
  `ftp://dana:${V}@host.org/x`,
  `dana:${V}@host.org:8080`,
  ...'signature sig hmac access_token id_token key token auth pwd client_secret code sid session_id jwt private_token st'
    .split(' ')
    .flatMap((name) => [`?${name}=${V}`, `&amp;${name}=${V}`, `#${name}=${V}`]),
  ...'bearer token apikey api-key digest negotiate hawk sso-key splunk geniekey'
    .split(' ')
    .map((name) => `${name} ${V}`),
  `basic ${Buffer.from('dana:hunter22x').toString('base64')}`,
  `Authorization: ${V}`,
  `Cookie: sid=${V}`,
  ...[':', '=', '": "', ' : '].map((sign) => `auth${sign}${Buffer.from('dana:hunter22x').toString('base64')}`),
  ...['mysql -p', 'sshpass -p ', 'sqlcmd -P ', 'docker login -p ', 'curl -u a:', 'wget --user=a:', 'redis-cli -a '].map(
    (command) => `${command}hunter22x`,
  ),
  ...[
    'ldapadd -w ',
    'smbclient -U a%',
    'htpasswd -b f a ',
    'rabbitmqctl add_user a ',
    'openssl x -k ',
    'xfreerdp /p:',
  ].map((command) => `${command}hunter22x`),
  ...['sqlplus a/', 'lftp -u a,', 'useradd -p ', 'net use x /user:a ', 'gh secret set X -b ', 'net user a '].map(
    (command) => `${command}hunter22x`,
  ),
  ...['gh secret set X --value=', 'glab secret set X -v ', '--db-passwd=', '--pwd ', "create role a password '"].map(
    (command) => `${command}hunter22x'`,
  ),
  ...['echo hunter22x | sudo -S', 'echo a:hunter22x | base64', 'oracle:thin:a/hunter22x@h'],
  ...[
    'creds: dana / hunter22x',
    'log-in: dana / hunter22x',
    'echo a:hunter22x | chpasswd',
    'ConvertTo-SecureString hunter22x',
  ],
  ...['auth = ("a", "hunter22x")', 'auth("a", "hunter22x")', '--passphrase hunter22x', `--key ${V}`],
  ...["identified by 'hunter22x'", 'machine h.org login a password hunter22x'],
  ...['h:5432:db:a:hunter22x', '*:*:*:*:hunter22x'],
  ...'kennwort contraseña senha wachtwoord parola пароль 密码 密碼 口令 授权码 パスワード 비밀번호 masterauth bindpw psk pwd pass pw'
    .split(' ')
    .map((name) => `${name}=${V}!1`),
  ...'secret creds hash_salt token jwt session-id ado_pat apikey auth.key licence_key maps-key x-my-key 密钥 秘钥 私钥 金鑰 令牌'
    .split(' ')
    .map((name) => `${name}="${V}"`),
]

describe('what a rule needs', () => {
  it('is in the least of each of its forms', async () => {
    const nothing: string[] = []
    const missed: string[] = []
    for (const text of least) {
      const found = await everything(text)
      if (found.length === 0) nothing.push(text)
      if (JSON.stringify(await findSecrets(text)) !== JSON.stringify(found)) missed.push(text)
    }
    expect({ nothing, missed }).toEqual({ nothing: [], missed: [] })
  })

  it('is in every text in which it finds anything: a thousand secrets', async () => {
    for (const { text } of secretSamples(seeded('needs'), 1_000))
      expect(await findSecrets(text)).toEqual(await everything(text))
  })

  it('is in every text in which it finds anything: a thousand look-alikes', async () => {
    for (const { text } of harmlessSamples(seeded('needs'), 1_000))
      expect(await findSecrets(text)).toEqual(await everything(text))
  })

  it('is in every text in which it finds anything: texts made of the rules themselves', async () => {
    await fc.assert(
      fc.asyncProperty(nearRules, async (text) => {
        expect(await findSecrets(text)).toEqual(await everything(text))
      }),
      { numRuns: 4_000 },
    )
  })

  it('is in every token that begins as its issuer says, in any case', async () => {
    for (const [, prefixes, body] of shapes) {
      const looks = /\(\?<?[!=][^)]*\)/g
      const rest = fc.stringMatching(new RegExp(`^${body.replace(looks, '').replaceAll(',}', ',120}')}$`))
      const token = fc.tuple(fc.constantFrom(...prefixes.split(' ')), rest).map((parts) => parts.join(''))
      fc.assert(
        fc.property(token, (text) => {
          for (const one of [text, `(${text})`, `x ${text}`])
            expect([one, needsOf(one).detector('tokens')]).toEqual([one, true])
        }),
        { numRuns: 20 },
      )
    }
  })

  it('may have any white space where it has a space', () => {
    for (let code = 0; code < 65_536; code++) {
      const one = String.fromCharCode(code)
      if (/\s/.test(one)) expect([code, needsOf(`mysql${one}-p`).detector('commands')]).toEqual([code, true])
    }
  })

  it('is known of every rule of the preset', async () => {
    expect((await loadPreset()).map(({ name }) => name).sort()).toEqual(Object.keys(presetPieces).sort())
  })
})

const lists = [
  [1, ['@', 'pw', '^sk-', 'token', 'tokenize']],
  [2, [' -p', '9:', 'key', '-key', 'пароль', '密码', '$2']],
  [4, ['^key', 'x.y_z', 'pw']],
] as const
const TRACED = 3

/** Piece by piece and place by place. */
function plainly(text: string) {
  const folded = [...text.split('')].map((one) => (/\s/.test(one) ? ' ' : one.toLowerCase())).join('')
  const found = lists.flatMap(([bit, pieces]) =>
    pieces.flatMap((piece) => {
      const letters = piece.replace('^', '')
      const places = Array.from({ length: text.length }, (_, at) => at).filter((at) => folded.startsWith(letters, at))
      const free = places.filter((at) => !piece.startsWith('^') || !/[A-Za-z0-9]/.test(text[at - 1] ?? ' '))
      return free.map((at) => ({ bit, at }))
    }),
  )
  const runs = (/[A-Za-z0-9]{32}/.test(text) ? LONG_RUN : 0) | (/[A-Za-z0-9_-]{24}/.test(text) ? DASHED_RUN : 0)
  return {
    bits: found.reduce((all, { bit }) => all | bit, runs),
    places: found.filter(({ bit }) => (bit & TRACED) !== 0).map(({ bit, at }) => `${at} ${bit}`),
  }
}

const pieces = lists.flatMap(([, all]) => all.map((piece) => piece.replace('^', '')))
const near = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...pieces,
        ...pieces.map((piece) => piece.toUpperCase()),
        ...pieces.map((piece) => piece.slice(1)),
      ),
      fc.constantFrom(' ', '\n', '\u2003', 'a', '7', '-', '.', 'é', '字', '\0', 'x'.repeat(23), 'x'.repeat(31)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

it('finds every piece where it begins, in texts of bytes and of characters, short and long', () => {
  const hints = createHints(lists, TRACED)
  fc.assert(
    fc.property(near, fc.constantFrom('', ' ', 'é ', '. '.repeat(4)), (text, before) => {
      const whole = before.length > 2 ? before + text : text + before
      const { bits, places } = hints(whole)
      const expected = plainly(whole)
      expect(bits).toBe(expected.bits)
      expect(places.map(({ at, bit }) => `${at} ${bit}`).sort()).toEqual(expected.places.sort())
    }),
    { numRuns: 500 },
  )
})

it('knows nothing of the text before', () => {
  const hints = createHints(lists, TRACED)
  expect(hints('my token').bits).toBe(1)
  // Shorter: behind it stand the letters of the one before.
  expect(hints('my tok').bits).toBe(0)
  expect(hints('é token').bits).toBe(1)
  expect(hints('é tok').bits).toBe(0)
})

it.each(['é', '中', '😀'])('looks at all of a text that has more bytes than room: %s', (other) => {
  const hints = createHints(lists, TRACED)
  // What does not fit is cut between characters: the bytes that do may be as many as the text has characters.
  for (let length = 65_528; length < 65_544; length++)
    for (let before = 0; before < 4; before++) {
      const text = `${'.'.repeat(before)}${' my token'.padStart(length - before, other)}`
      expect([text.length, hints(text).bits]).toEqual([length, 1])
    }
})

it('knows a long run wherever it stands, and none that is shorter by one', () => {
  const hints = createHints(lists, TRACED)
  const dashed = (chars: number) => 'a-_7'.repeat(8).slice(0, chars)
  for (const before of ['', '.', 'a b ', `${dashed(23)} `])
    for (const after of ['', '.', ' b', ` ${dashed(23)}`]) {
      const bitsOf = (run: string) => hints(`${before}${run}${after}`).bits
      expect(
        [dashed(23), dashed(24), 'x'.repeat(31), 'x'.repeat(32), `${dashed(8)}${'x'.repeat(32)}`].map(bitsOf),
      ).toEqual([0, DASHED_RUN, DASHED_RUN, DASHED_RUN | LONG_RUN, DASHED_RUN | LONG_RUN])
    }
})
