import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findSecrets, findWith } from '../../daemon/secrets/find.ts'
import { needsOf } from '../../daemon/secrets/needs.ts'
import { loadPreset } from '../../daemon/secrets/preset.ts'
import { shapes } from '../../daemon/secrets/token-shapes.ts'
import { harmlessSamples } from '../support/harmless-samples.ts'
import { secretSamples } from '../support/secret-samples.ts'
import { seeded } from '../support/seed.ts'
import { sources } from '../support/sources.ts'

const everything = (text: string) => findWith(text, () => ({ detector: () => true, preset: () => true }))

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

describe('what a rule needs', () => {
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
    for (const [, prefix, rest] of shapes) {
      const looks = /\(\?<?[!=][^)]*\)/g
      const token = fc.stringMatching(
        new RegExp(`^${`${prefix}${rest}`.replace(looks, '').replaceAll(',}', ',120}')}$`),
      )
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

  it('is nothing for a rule that is not known, which runs on every text', async () => {
    expect(needsOf('The deploy runs at noon.').preset('a rule of tomorrow')).toBe(true)
    const known = (await loadPreset()).map(({ name }) => name)
    expect(known.filter((name) => needsOf('The deploy runs at noon.').preset(name))).toEqual([])
  })
})
