import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findSecrets } from '../../daemon/secrets/detect.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import { harmlessSamples } from '../support/harmless-samples.ts'
import { remainsOf, type SecretSample, secretSamples } from '../support/secret-samples.ts'
import { freeStanding, password } from '../support/secret-values.ts'
import { seeded } from '../support/seed.ts'

const COUNT = 1000

describe('redaction', () => {
  it('leaves no eight characters of a thousand fake secrets of over twenty kinds', async () => {
    const samples = secretSamples(seeded('secrets'), COUNT)
    const leaks: (SecretSample & { left: string })[] = []
    for (const sample of samples) {
      expect(sample.text).toContain(sample.secret)
      const { text } = await redact(sample.text)
      const left = remainsOf(sample, text)[0]
      if (left !== undefined) leaks.push({ ...sample, left })
    }
    expect(leaks).toEqual([])
    expect(new Set(samples.map(({ kind }) => kind)).size).toBeGreaterThan(20)
  })

  it('touches at most one in a hundred harmless look-alikes', async () => {
    const touched: { text: string; redacted: string }[] = []
    for (const { text } of harmlessSamples(seeded('harmless'), COUNT)) {
      const { text: redacted } = await redact(text)
      if (redacted !== text) touched.push({ text, redacted })
    }
    expect(touched.slice(COUNT / 100)).toEqual([])
  })

  it('leaves text without a secret as it was, and says so', async () => {
    expect(await redact('The deploy runs at noon.')).toEqual({ text: 'The deploy runs at noon.', kinds: [] })
  })

  it('keeps what surrounds a secret and names what was there', async () => {
    const random = seeded('one')
    const token = freeStanding.github?.(random)
    expect(
      await redact(`CI uses ${token} and redis://app:${password(random)}@cache.internal:6379/0 for tests.`),
    ).toEqual({
      text: 'CI uses [redacted:github-token] and redis://app:[redacted:url-password]@cache.internal:6379/0 for tests.',
      kinds: ['github-token', 'url-password'],
    })
  })

  it('does not take what only looks like its own mark for one', async () => {
    const token = freeStanding.github?.(seeded('one')) ?? ''
    const { text } = await redact(`[redacted:jwt] [redacted:${token}] [redacted:jwt-${token}]`)
    expect(text).toBe('[redacted:jwt] [redacted:[redacted:github-token]] [redacted:jwt-[redacted:github-token]]')
  })
})

/** Pieces from which secrets and their surroundings are made, so that random texts come close to the rules' edges. */
const pieces = (
  'password|token|secret|api_key|PASSWORD=|password: "|Bearer |Authorization: |Basic |Cookie: a=|aws |curl -u a:|mysql -p|' +
  'http://a:|@host.org|?sig=|eyJ|sk-|AK|IA|$2y$10$|hunter22|Aa1!bcde|0a1b2c3d4e5f60718293a4b5c6d7e8f9|example|xxxx|***|' +
  '[redacted:jwt]|[redacted:|]| |=|:|;|,|.|-|_|"|\'|`|\\|\\n|\\"|%3D|%22|&quot;|<|>|{|}|/|\n|\0|\ufeff|😀|ß|漢'
).split('|')

const nearSecrets = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 12 }), fc.base64String({ maxLength: 60 })), {
    maxLength: 24,
  })
  .map((parts) => parts.join(''))
const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 200 })
  .map((units) => String.fromCharCode(...units))
const anyText = fc.oneof({ weight: 3, arbitrary: nearSecrets }, { weight: 1, arbitrary: anyUnits })

describe('any text', () => {
  it('gets ranges that are sorted, apart and within it', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        let last = 0
        for (const { start, end } of await findSecrets(text)) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          last = end
        }
        expect(last).toBeLessThanOrEqual(text.length)
      }),
      { numRuns: 1500 },
    )
  })

  it('is not changed by redacting it again', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const once = await redact(text)
        expect(await redact(once.text)).toEqual({ text: once.text, kinds: [] })
      }),
      { numRuns: 1500 },
    )
  })
})
