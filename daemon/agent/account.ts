/** What a run used, added up. Pure. */
import type { Usage } from '../models/provider.ts'

export type Account = {
  calls: number
  read: number
  created: number
  uncached: number
  output: number
  hitPercent: number
}

export function accountOf(calls: readonly Usage[]): Account {
  const sum = (of: (usage: Usage) => number) => calls.reduce((total, usage) => total + of(usage), 0)
  const read = sum(({ cacheRead }) => cacheRead)
  const created = sum(({ cacheWrite }) => cacheWrite)
  const uncached = sum(({ input }) => input)
  const all = read + created + uncached
  const hitPercent = all === 0 ? 0 : Math.round((1000 * read) / all) / 10
  return { calls: calls.length, read, created, uncached, output: sum(({ output }) => output), hitPercent }
}
