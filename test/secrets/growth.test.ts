import { describe, expect, it } from 'vitest'
import { redact } from '../../daemon/secrets/redact.ts'

/** Texts built to make a rule start over at every character. */
const hostile: [string, string][] = [
  ['prose', 'The deploy runs at noon; tokens are in the vault.\n'],
  ['one endless word', 'a'],
  ['assignments without an end', 'password="'],
  ['assignments in assignments', 'password=password='],
  ['keys in a row', 'password: x'],
  ['starts of tokens', 'sk-'],
  ['starts of web tokens', 'eyJaaaaaaaaa.'],
  ['starts of web tokens in one run', '-eyJaaaaaaaaa'],
  ['heads of web tokens in one run', '-eyJaaaaaaaaa.a'],
  ['addresses without a host', 'http://a:'],
  ['open private keys', '-----BEGIN PRIVATE KEY-----\n'],
  ['commands without options', 'mysql -u curl '],
  ['escapes in escapes', '\\\\\\"password\\\\\\":'],
  ['marks', 'password=[redacted:jwt]'],
]

const SMALL = 100_000

async function cpuMs(motif: string, length: number): Promise<number> {
  const text = motif.repeat(Math.ceil(length / motif.length)).slice(0, length)
  const before = process.cpuUsage()
  await redact(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

describe('the cost of a scan', () => {
  it.each(hostile)('grows with the length of the text and no faster: %s', async (_what, motif) => {
    await cpuMs(motif, SMALL)
    const small = Math.max(5, Math.min(await cpuMs(motif, SMALL), await cpuMs(motif, SMALL)))
    const large = await cpuMs(motif, 10 * SMALL)
    // Ten times the text: linear gives ten, quadratic a hundred.
    expect(large / small).toBeLessThan(60)
  })

  it('does not grow with the square of the findings', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `PASSWORD=hunter${at}x!\n`).join('')
    const text = many(40_000)
    expect((await redact(text)).text).toBe('PASSWORD=[redacted:password]\n'.repeat(40_000))
  })
})
