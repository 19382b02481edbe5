/** The ledger as it is shown: dollars, and how much of the input came from a cache. Pure. */
import type { Budget, CostList } from '../../schema/job.ts'
import type { Grouping, Total } from './ledger.ts'
import type { Money } from './money.ts'

type Deps = Pick<Money, 'totals'> & { budget: () => Budget }

export function costOf({ totals, budget }: Deps, by: Grouping, days: number): CostList {
  const found = totals(by, days)
  return { items: found.totals.map(shown), unpriced: found.unpriced, today: budget() }
}

function shown({ key, nanos, ...rest }: Total): CostList['items'][number] {
  const prompt = rest.input + rest.cacheRead + rest.cacheWrite
  const hitPercent = prompt === 0 ? null : Math.round((rest.cacheRead / prompt) * 1_000) / 10
  return { key: key ?? '', usd: nanos / 1_000_000_000, ...rest, hitPercent }
}
