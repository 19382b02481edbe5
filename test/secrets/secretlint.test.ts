import { describe, expect, it } from 'vitest'
import { findSecrets, merge } from '../../daemon/secrets/detect.ts'
import { loadPreset } from '../../daemon/secrets/secretlint.ts'
import { ALNUM, below, chars, HEX, type Random, URL64 } from '../support/secret-values.ts'
import { seeded } from '../support/seed.ts'

const glue = (...parts: string[]): string => parts.join('')
const random = seeded('preset')

/** One of each format that the preset knows. */
const formats: Record<string, (r: Random) => string> = {
  aws: (r) => `aws_secret_access_key=${chars(r, ALNUM, 40)}`,
  slack: (r) => glue('xo', 'xb-', chars(r, '123456789', 11), '-', chars(r, ALNUM, 24)),
  shopify: (r) => glue('shp', 'ss_', chars(r, HEX, 32)),
  github: (r) => glue('gh', 'o_', chars(r, ALNUM, 36)),
  gitlab: (r) => glue('gl', 'pat-', chars(r, ALNUM, 20)),
  grafana: (r) => glue('gl', 'sa_', chars(r, ALNUM, 32), '_', chars(r, HEX, 8)),
  openai: (r) => glue('sk', '-', chars(r, ALNUM, 20), 'T3Blbk', 'FJ', chars(r, ALNUM, 20)),
  anthropic: (r) => glue('sk', '-ant-api03-', chars(r, URL64, 92), 'xAA'),
  groq: (r) => glue('gs', 'k_', chars(r, ALNUM, 52)),
  huggingface: (r) => glue('h', 'f_', chars(r, ALNUM.slice(0, 52), 34)),
  linear: (r) => glue('lin', '_api_', chars(r, ALNUM, 40)),
  notion: (r) => glue('nt', 'n_', chars(r, '0123456789', 11), chars(r, ALNUM, 35)),
  vault: (r) => glue('hv', 's.', chars(r, URL64, 94), 'x'),
  vercel: (r) => glue('vc', 'p_', chars(r, ALNUM, 40)),
  databricks: (r) => glue('da', 'pi', chars(r, HEX, 32)),
  docker: (r) => glue('dckr', '_pat_', chars(r, URL64, 26), 'x'),
  figma: (r) => glue('fi', 'gd_', chars(r, URL64, 43), 'x'),
  sendgrid: (r) => glue('S', 'G.', chars(r, ALNUM, 22), '.', chars(r, ALNUM, 43)),
  npm: (r) => glue('np', 'm_', chars(r, ALNUM, 36)),
  'basic auth': (r) => `https://dana:${chars(r, ALNUM, 12)}@files.internal.test`,
  mongodb: (r) => `mongodb://dana:${chars(r, ALNUM, 12)}@db.internal.test/main`,
  mysql: (r) => `mysql://dana:${chars(r, ALNUM, 12)}@db.internal.test/main`,
  postgres: (r) => `postgresql://dana:${chars(r, ALNUM, 12)}@db.internal.test/main`,
}

async function presetFinds(text: string) {
  return merge((await Promise.all((await loadPreset()).map((rule) => rule.find(text)))).flat())
}

describe('secretlint', () => {
  it.each(Object.keys(formats))('or our own rules find what it knows as %s', async (name) => {
    for (let round = 0; round < 20; round++) {
      const text = `${'x '.repeat(below(random, 40))}${formats[name]?.(random)} and more`
      expect(await findSecrets(text), text).toHaveLength(1)
    }
  })

  it('reports no more than the value', async () => {
    const value = chars(random, ALNUM, 40)
    const text = `# keys\naws_secret_access_key : '${value}'`
    expect(await presetFinds(text)).toEqual([
      { kind: 'aws-secret-key', start: text.indexOf(value), end: text.indexOf(value) + 40 },
    ])
  })

  it('takes no orders from the text', async () => {
    const token = formats.github?.(random)
    expect(await presetFinds(`secretlint-disable ${token} secretlint-disable-line`)).toHaveLength(1)
  })

  it('keeps quiet about the placeholders of manuals', async () => {
    expect(await presetFinds(`export GITHUB_TOKEN=${glue('gh', 'p_')}${'x'.repeat(36)}`)).toEqual([])
  })
})
