import { z } from 'zod'
import { Amount } from './amount.ts'

export const Budget = z
  .object({
    usd: z.number().describe('Dollars of today, with the most that calls still on their way can cost'),
    capUsd: z.number().describe('0: no model at all'),
    tokens: z.int().describe('Input tokens of today that came from no cache'),
    capTokens: z.int().describe('0: no model at all'),
  })
  .describe("The day's money; days are local")
export type Budget = z.infer<typeof Budget>

export const CostQuery = z.strictObject({
  by: z.enum(['day', 'project', 'job']).optional().describe('day by default'),
  days: Amount.optional().describe('How many days back, today included: at most 999, 30 by default'),
})

const Cost = z.object({
  key: z.string().describe('The local day, the root of the project, or the kind of job; empty: of no project'),
  usd: z.number(),
  input: z.int().describe('Tokens that came from no cache and went into none'),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  output: z.int(),
  calls: z.int(),
  unsettled: z.int().describe('Calls whose end nobody saw: they count with the most they can have cost'),
  hitPercent: z.number().nullable().describe('How much of the input came from a cache; null: there was none'),
})

export const CostList = z
  .object({
    items: z.array(Cost),
    unpriced: z.array(z.string()).describe('Models whose price is unknown: of them, tokens are counted and no dollars'),
    today: Budget,
  })
  .describe('What models have cost')
export type CostList = z.infer<typeof CostList>
