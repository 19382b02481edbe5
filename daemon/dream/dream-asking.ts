/** How a model is asked for a dream: as a fork that may change memories only, within its limits, and what became of it. */
import type { Spent } from '../../schema/dream.ts'
import { whyNotDone } from '../agent/agent-run.ts'
import type { Forking } from '../agent/forking.ts'
import type { createMemory } from '../memory/memory.ts'
import { costInNanos, factsOf } from '../models/models.ts'
import type { Usage } from '../models/provider.ts'
import type { Clock } from '../platform/clock.ts'
import type { LiveSettings } from '../settings/live.ts'
import type { Asked, Asking } from './dream.ts'
import { NOTHING_SPENT } from './progress.ts'

type Deps = {
  settings: LiveSettings
  clock: Clock
  memory: Pick<ReturnType<typeof createMemory>, 'consolidating'>
  forking: Forking
  redact: (text: string) => Promise<{ text: string }>
}

/** Enough turns to read and rewrite a whole directory; the others keep a model that never stops from costing more than it may. */
const LIMITS = { turns: 30, outputTokens: 60_000, wallMs: 30 * 60_000, usd: 0.5 }
const ANSWER_TOKENS = 8_000
const MOST_TRANSCRIPTS = 100

export function createDreamAsking({ settings, clock, memory, forking, redact }: Deps) {
  const usdOf = (usage: Usage): number | undefined => {
    const { model: models, models: own } = settings.current()
    const nanos = costInNanos(usage, factsOf(models.dream, own))
    return nanos === undefined ? undefined : nanos / 1e9
  }

  return async (asking: Asking): Promise<Asked> => {
    // Loaded with the first dream: most starts of a daemon have none.
    const { askForDream } = await import('./asking.ts')
    const { dir, root, runId, sessions, signal, stillOurs } = asking
    let drafts: Parameters<Parameters<Forking['run']>[0]['apply']>[0] = []
    let spent: Spent = NOTHING_SPENT
    const report = await forking.run({
      job: 'dream',
      project: root,
      prefix: await forking.toldNothing(`dream ${dir}`, settings.current().model.dream),
      ...askForDream(asking, clock.now()),
      policy: { may: 'memory' },
      // The files alone: beside them may be what was said elsewhere.
      reach: forking.reachOf(dir, [root], sessions.flatMap(({ paths }) => paths).slice(0, MOST_TRANSCRIPTS)),
      limits: LIMITS,
      maxTokens: ANSWER_TOKENS,
      atTurnLimit: 'fail',
      check: (draft) => memory.consolidating.refusalOf(dir, draft, runId),
      cite: () => ({ evidence: [] }),
      // Applied with what rules make of it, once the model is done.
      apply: async (given) => {
        drafts = given
      },
      stillOurs,
      signal,
      onTurn: ({ turn, text, tools, files, usage }) => {
        spent = withUsage(spent, usage, usdOf(usage))
        asking.onTurn({ turn, text, tools, files }, spent)
      },
    })
    const numbers = { turns: report.turns, denials: report.denials, spent }
    if (report.ended === 'aborted') return { ...numbers, aborted: report.why ?? 'it was stopped' }
    // Whatever led it there may have led it in the rest as well, and asked again it would be led again.
    if (report.astray > 0) {
      const why = `the model tried to write outside the memory directory (${report.astray}×), so nothing of this dream was kept`
      return { ...numbers, why, not: { refuse: why } }
    }
    const not = whyNotDone(report)
    if (!not) return { ...numbers, drafts }
    // A limit that was reached, or words that mean nothing: the same question would be answered the same.
    const { text: why } = await redact(report.why ?? 'it came to nothing')
    return { ...numbers, why, not: report.failure ? not : { refuse: why } }
  }
}

function withUsage(spent: Spent, { input, cacheRead, cacheWrite, output }: Usage, usd: number | undefined): Spent {
  return {
    calls: spent.calls + 1,
    input: spent.input + input,
    cacheRead: spent.cacheRead + cacheRead,
    cacheWrite: spent.cacheWrite + cacheWrite,
    output: spent.output + output,
    // In whole billionths, as the ledger counts.
    ...(usd !== undefined && { usd: Math.round(((spent.usd ?? 0) + usd) * 1e9) / 1e9 }),
  }
}
