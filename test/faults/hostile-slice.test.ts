import { expect, it } from 'vitest'
import { fuzzed, namesRefused, type Part, racing, secretsSent } from '../campaign/hostile.ts'
import { seeded } from '../support/seed.ts'

const seed = () => Math.floor(seeded('hostile requests')() * 1e9)

const parts: [string, () => Promise<Part>][] = [
  ['answers requests that are spoilt in every way, each in the one form', () => fuzzed(300, seed())],
  ['keeps no credential, in whichever field it came', () => secretsSent(['bare'])],
  ['takes no memory under a name that none may have', () => namesRefused(30)],
  ['loses no change of those who change the same memories at once', () => racing(150, seed())],
]

it.each(parts)('%s', async (_what, run) => {
  const { tried, problems } = await run()
  expect(problems).toEqual([])
  expect(tried).toBeGreaterThan(0)
})
