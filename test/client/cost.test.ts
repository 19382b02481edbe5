import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { type Context, createPrint } from '../../client/cli/context.ts'
import { cost } from '../../client/cli/status.ts'
import type { StrictClient } from '../../client/client.ts'

type Cost = Awaited<ReturnType<StrictClient['cost']>>

const day = (key: string, usd: number): Cost['items'][number] => ({
  key,
  usd,
  input: 100,
  cacheRead: 300,
  cacheWrite: 0,
  output: 12_345,
  calls: 2,
  unsettled: 0,
  hitPercent: 75,
})
const today = { usd: 0.5, capUsd: 1, tokens: 100, capTokens: 5_000_000 }

async function printed(colour: 'on' | 'off', answer: Cost, options = {}): Promise<string[]> {
  let text = ''
  const write = (more: string) => {
    text += more
  }
  const print = createPrint(write, { json: false, colour })
  const client = { cost: async () => answer, close: () => {} }
  await cost({ print, places: {}, env: {}, connect: () => client } as unknown as Context, options)
  return stripVTControlCharacters(text).trimEnd().split('\n')
}

it('draws a bar for each day on a terminal, the longest for the dearest, and none for a day that cost nothing', async () => {
  const items = [day('2026-03-09', 0.0012), day('2026-03-10', 0.5), day('2026-03-11', 0), day('2026-03-12', 0.25)]
  const lines = await printed('on', { items, today, unpriced: [] })
  expect(lines).toEqual([
    'day         dollars  tokens in / out  from cache  calls',
    '2026-03-09  $0.0012        400 / 12k        75 %      2  █',
    `2026-03-10    $0.50        400 / 12k        75 %      2  ${'█'.repeat(24)}`,
    '2026-03-11    $0.00        400 / 12k        75 %      2',
    `2026-03-12    $0.25        400 / 12k        75 %      2  ${'█'.repeat(12)}`,
    'today $0.50 of $1.00, 100 of 5000k uncached tokens',
  ])
  expect((await printed('off', { items, today, unpriced: [] })).join('')).not.toContain('█')
})

it('says which calls have no known end, and keeps each project on its line', async () => {
  const items = [
    { ...day('/home/me/a\nb', 0.2), unsettled: 1 },
    { ...day('', 0), hitPercent: null },
  ]
  const lines = await printed('on', { items, today, unpriced: ['qwen-3'] }, { by: 'project' })
  expect(lines.slice(1, 3)).toEqual([
    '/home/me/a\ufffdb    $0.20        400 / 12k        75 %  2 (1 open)',
    '(no project)    $0.00        400 / 12k           -           2',
  ])
  expect(lines.at(-1)).toContain('qwen-3: only tokens are counted')
})
