import { describe, expect, it } from 'vitest'
import { findSecrets } from '../../daemon/secrets/detect.ts'
import { ALNUM, blocks, chars, freeStanding } from '../support/secret-values.ts'
import { seeded } from '../support/seed.ts'

const random = seeded('find')
const github = freeStanding.github?.(random) ?? ''

/** True if every character of the secret lies within a finding. */
async function covers(text: string, secret: string): Promise<boolean> {
  const start = text.indexOf(secret)
  const found = await findSecrets(text)
  return found.some((finding) => finding.start <= start && finding.end >= start + secret.length)
}

describe('findings', () => {
  it('are indexes of the text as it was given, whatever stands before them', async () => {
    for (const before of ['', '\ufeff', '😀 漢字 ', '\ud800', '\r\n\u2028', '\0 ', 'a\\nb %20 ']) {
      const text = `${before} ${github}.`
      expect(await findSecrets(text)).toEqual([
        { kind: 'github-token', start: before.length + 1, end: before.length + 1 + github.length },
      ])
    }
  })

  it('cover the whole value where secretlint reports another place', async () => {
    const value = `${'aB3/'.repeat(9)}xY7z`
    const text = `aws_secret_access_key   =   "${value}"`
    expect(await findSecrets(text)).toEqual([
      { kind: 'aws-secret-key', start: text.indexOf(value), end: text.length - 1 },
    ])
  })

  it.each(['', '_', 'e-', 'e-_', 'session_', 'of-user-', '/tmp/job-'])('see a web token behind %j', async (before) => {
    const token = freeStanding.jwt?.(random) ?? ''
    expect(await covers(`${before}${token}_ (expires in May)`, token)).toBe(true)
  })

  it('do not depend on comments that switch secretlint off', async () => {
    const text = `// secretlint-disable\nconst a = '${github}' // secretlint-disable-line\n// secretlint-disable-next-line\n${github}`
    expect(await findSecrets(text)).toHaveLength(2)
  })

  it('merge what several rules see in the same place', async () => {
    const text = `export GITHUB_TOKEN="${github}"`
    expect(await findSecrets(text)).toEqual([{ kind: 'github-token', start: 21, end: 21 + github.length }])
  })

  const long = chars(random, ALNUM, 3000)
  it.each([
    `DB_PASSWORD=${long}\nDB_HOST=db`,
    `{"api_key":"${long}"}`,
    `password: ${long}`,
    `Authorization: Bearer ${long}`,
    `Cookie: theme=dark; sid=${long}; lang=en`,
    `./run --token ${long} --verbose`,
    `./run --password "${long.slice(0, 1500)}"`,
    `https://internal.test/?access_token=${long}&page=2`,
    `https://dana:${long.slice(0, 900)}@internal.test/`,
  ])('reach the end of a long value (%#)', async (text) => {
    const secret = /[A-Za-z0-9]{900,}/.exec(text)?.[0] ?? ''
    expect(await covers(text, secret)).toBe(true)
  })

  it('are found in megabytes of text, while other work goes on', async () => {
    const text = `${'The quick fox asks dana@host for a token and a cookie, and runs sudo -p in s3.\n'.repeat(30_000)}${github}`
    let turns = 0
    const count = () => {
      turns++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    expect(await findSecrets(text)).toEqual([
      { kind: 'github-token', start: text.length - github.length, end: text.length },
    ])
    clearImmediate(counting)
    expect(turns).toBeGreaterThan(5)
  })
})

describe('a secret does not hide', () => {
  const disguises: [string, (secret: string) => string][] = [
    ['in quotes', (s) => `"${s}"`],
    ['in backticks', (s) => `\`${s}\``],
    ['in bold', (s) => `**${s}**`],
    ['in underscores', (s) => `__${s}__`],
    ['before a full stop', (s) => `It is ${s}.`],
    ['before other punctuation', (s) => `(${s}), [${s}]; {${s}}!`],
    ['behind an equals sign', (s) => `A=${s}`],
    ['in JSON behind a line break', (s) => JSON.stringify({ log: `a\n${s}\nb` })],
    ['in JSON within JSON', (s) => JSON.stringify({ a: JSON.stringify({ b: `x\n${s}` }) })],
    ['in HTML', (s) => `&quot;${s}&quot;<br>`],
    ['behind an escaped equals sign', (s) => `redirect=%2Fcb%3Fv%3D${s}`],
    ['at the end of a path', (s) => `https://internal.test/hooks/${s}`],
  ]
  it.each(disguises)('%s', async (_where, disguise) => {
    const missed: string[] = []
    for (const [kind, make] of Object.entries(freeStanding)) {
      const secret = make(random)
      if (!(await covers(disguise(secret), secret))) missed.push(`${kind}: ${disguise(secret)}`)
    }
    expect(missed).toEqual([])
  })

  it('when its own characters are escaped', async () => {
    const value = `${'aB3/+dE5'.repeat(5)}`
    const escaped = value.replaceAll('/', '\\/').replaceAll('+', '\\u002b')
    expect(await covers(`{"SecretAccessKey":"${escaped}"}`, escaped)).toBe(true)
    expect(await covers(`?aws_secret_access_key=${encodeURIComponent(value)}`, encodeURIComponent(value))).toBe(true)
  })

  it.each(Object.keys(blocks))('in a %s whose lines are quoted or commented', async (kind) => {
    const block = blocks[kind]?.(random) ?? ''
    for (const mark of ['> ', '# ', '    ', '// ', '* ']) {
      const quoted = block.replace(/^/gm, mark)
      expect(await covers(`see:\n${quoted}\n\nand so on`, quoted.slice(mark.length))).toBe(true)
    }
  })
})
