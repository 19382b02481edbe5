import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { redact } from '../../daemon/secrets/redact.ts'
import { remainsOf } from '../support/secret-samples.ts'
import { ALNUM, BASE64, chars, DIGITS, HEX, password, type Random, URL64 } from '../support/secret-values.ts'
import { seeded } from '../support/seed.ts'
import { projectRoot } from '../support/sources.ts'

/** One form a line; `⏎` stands for a line break. */
function lines(name: string): string[] {
  const text = readFileSync(join(projectRoot, 'test/secrets', name), 'utf8')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replaceAll('⏎', '\n'))
}

/** Puts a credential in the place of each `§`, and answers with the forms that gave it away. */
async function leaks(forms: string[], make: () => string): Promise<string[]> {
  const leaked: string[] = []
  for (const form of forms) {
    const secret = make()
    const { text } = await redact(form.replaceAll('§', () => secret))
    if (remainsOf({ secret }, text).length > 0) leaked.push(`${form} with ${secret} became ${text}`)
  }
  return leaked
}

const keys: [string, (r: Random) => string][] = [
  ['32 hex digits', (r) => chars(r, HEX, 32)],
  ['64 hex digits', (r) => chars(r, HEX, 64)],
  ['letters and digits', (r) => chars(r, ALNUM, 20) + chars(r, DIGITS, 4)],
  ['base64', (r) => `${chars(r, ALNUM, 20)}${chars(r, DIGITS, 2)}${chars(r, BASE64, 21)}=`],
  ['base64url', (r) => `${chars(r, ALNUM, 10)}${chars(r, DIGITS, 2)}${chars(r, URL64, 20)}${chars(r, ALNUM, 1)}`],
]

describe('what announces a credential', () => {
  it('gives no password away, in any of its forms', async () => {
    const random = seeded('passwords')
    for (let round = 0; round < 5; round++)
      expect(await leaks(lines('password-forms.txt'), () => password(random))).toEqual([])
  })

  it.each(keys)('gives no key of %s away, in any of its forms', async (_what, make) => {
    const random = seeded('keys')
    expect(await leaks(lines('key-forms.txt'), () => make(random))).toEqual([])
  })

  it.each(['56129494293713816051427336899799', '31c339a1332c696112133d333c02ca1c'])(
    'gives no key away that is unlike most of its kind: %s',
    async (key) => expect(await leaks(lines('key-forms.txt'), () => key)).toEqual([]),
  )

  it('announces nothing in talk and code that only mention one', async () => {
    const touched: string[] = []
    for (const line of lines('harmless-lines.txt')) {
      const { text } = await redact(line)
      if (text !== line) touched.push(`${line} became ${text}`)
    }
    expect(touched).toEqual([])
  })

  it.each([
    ['Digest', 'Digest username="dana", realm="shop", nonce="7c1a", uri="/", response="§", opaque="5ccc"'],
    ['OAuth signature', 'OAuth realm="shop", oauth_nonce="7c1a", oauth_signature="§", oauth_version="1.0"'],
    ['OAuth token', 'OAuth oauth_token="§", oauth_nonce="7c1a", oauth_version="1.0"'],
    ['AWS4', 'AWS4-HMAC-SHA256 Credential=dana/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=§'],
  ])('is taken out of the header of %s', async (_what, form) => {
    const proof = chars(seeded(form), ALNUM, 28)
    const [before = ''] = form.split('§')
    for (const name of ['Authorization: ', '"authorization": "']) {
      const { text } = await redact(`${name}${form.replace('§', proof)}`)
      expect(text).not.toContain(proof.slice(0, 8))
      expect(text).toContain(`${before.slice(-10)}[redacted:token]`)
    }
  })
})
