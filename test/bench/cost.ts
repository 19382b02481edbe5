/** What the model runs after every turn of a long session cost. No time is measured: the figures are the same anywhere. */
import { longSession } from '../support/long-session.ts'
import { type JobCost, replay } from './replay.ts'
import type { Row } from './row.ts'

const TURNS = { compared: 60, long: 200 }
/** Two stretches of the long session, none of them with a compaction. */
const EARLY = { from: 41, to: 60 }
const LATE = { from: 181, to: 200 }

export const cost: Row<'dollars' | 'cached' | 'late'> = {
  name: 'cost',
  what: `extraction after each of ${TURNS.compared} turns, notes and a compaction; late: turns ${LATE.from}–${LATE.to} of ${TURNS.long} against ${EARLY.from}–${EARLY.to}`,
  yardstick: 'the same jobs, each sent the whole transcript once, uncached',
  goals: { dollars: { unit: '×', atMost: 0.2 }, cached: { unit: '%', atLeast: 75 }, late: { unit: '×', atMost: 1.1 } },

  run: async (bench) => {
    const home = bench.home()
    const compared = { home, session: longSession(TURNS.compared), compactAt: [TURNS.compared] }
    const ours = await replay({ ...compared, prefix: 'shared' })
    const theirs = await replay({ ...compared, prefix: 'whole' })
    const long = await replay({ home, session: longSession(TURNS.long), compactAt: [80, 160], prefix: 'shared' })
    const early = dollarsOf(within(long, EARLY))
    const late = dollarsOf(within(long, LATE))
    const shared = ours.filter(({ job }) => job !== 'compaction')
    const sum = (of: (cost: JobCost) => number) => shared.reduce((total, each) => total + of(each), 0)
    return {
      figures: {
        dollars: { value: dollarsOf(ours) / dollarsOf(theirs) },
        cached: { value: (100 * sum(({ read }) => read)) / sum(({ input }) => input) },
        late: { value: late / early },
      },
      details: {
        jobs: ours.length,
        oursUsd: dollarsOf(ours),
        wholeUsd: dollarsOf(theirs),
        longUsd: dollarsOf(long),
        earlyTurnUsd: early / 20,
        lateTurnUsd: late / 20,
      },
    }
  },
}

function within(costs: readonly JobCost[], { from, to }: { from: number; to: number }): JobCost[] {
  return costs.filter(({ turn }) => turn >= from && turn <= to)
}

function dollarsOf(costs: readonly JobCost[]): number {
  return costs.reduce((sum, { usd }) => sum + usd, 0)
}
