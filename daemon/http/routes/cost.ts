/** What models have cost. */
import type { CostList } from '../../../schema/cost.ts'
import type { Handlers } from '../server.ts'

type Deps = { cost(by: 'day' | 'project' | 'job', days: number): CostList }

const USUAL_DAYS = 30

export function costRoutes({ cost }: Deps): Pick<Handlers, 'cost'> {
  return { cost: ({ query: { by = 'day', days = USUAL_DAYS } }) => cost(by, days) }
}
