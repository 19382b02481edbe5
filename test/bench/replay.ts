/**
 * Replays a long session with the jobs that follow its turns, through the real SDK against the prefix-cache server: an
 * extraction after every turn, notes as often as they are due, a compaction now and then. Tasks are as long as real ones;
 * what they say is of no interest to a server that only counts.
 */
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgentRunner, type Task } from '../../daemon/agent/agent.ts'
import { daemonPrefix, type Prefix } from '../../daemon/agent/prefix.ts'
import { partsOf, type Rendered, renderMessage } from '../../daemon/agent/rendering.ts'
import type { Models } from '../../daemon/models/models.ts'
import { costInNanos, factsOf } from '../../daemon/models/prices.ts'
import type { Provider, Usage } from '../../daemon/models/wire.ts'
import { tokensIn } from '../../daemon/platform/text.ts'
import { createMessageTable } from '../../daemon/sessions/message-table.ts'
import { ask } from '../models/asking.ts'
import type { NamedMessage } from '../support/long-session.ts'
import { type Answer, calls, says } from '../support/messages-api/answers.ts'
import { createMessagesApi } from '../support/messages-api/server.ts'
import { benchCore } from './core.ts'

/** The models of the settings' defaults. */
const SMALL = 'claude-haiku-5-5'
const LARGE = 'claude-sonnet-5-5'

const TURN_MS = 180_000
/** Now and then there is a long break. */
const LONG_TURN = { every: 15, ms: 40 * 60_000 }
const NOTES = { firstTokens: 10_000, growthTokens: 5_000, tokensPerTurn: 60, mostTokens: 4_000 }
const SAVES_EVERY = 10
const MEMORIES_BEFORE = 30

const KEY = { harness: 'bench', sessionId: 's' }

export type JobCost = { turn: number; job: string; usd: number; read: number; input: number }

const words = (tokens: number) => 'one more word of it '.repeat(Math.ceil(tokens / 5)).slice(0, tokens * 4)
const directives = {
  extraction: (turn: number) => words(1_400 + 35 * (MEMORIES_BEFORE + Math.floor(turn / (2 * SAVES_EVERY)))),
  notes: (turn: number) => words(900) + notesAt(turn),
  compaction: () => words(1_200),
}
const notesAt = (turn: number) => words(Math.min(NOTES.mostTokens, NOTES.tokensPerTurn * turn))

type Folder = { dir: string }

type Options = {
  home: Folder
  session: readonly NamedMessage[][]
  compactAt: readonly number[]
  /** `whole`: each job is sent the whole transcript, and nothing is cached. The yardstick. */
  prefix: 'shared' | 'whole'
}

export async function replay({ home, session, compactAt, prefix }: Options): Promise<JobCost[]> {
  const api = await createMessagesApi()
  const core = await benchCore(join(home.dir, `${prefix}-${session.length}`))
  const { clock } = core
  const costs: JobCost[] = []
  let turn = 0
  let spent: { usd: number; read: number; input: number }
  const call: Provider['call'] = async (request, { signal }) => {
    const answer = await ask(api.url, request, { signal, clock })
    if (!('content' in answer)) throw new Error(`${answer.failed}: ${answer.message}`)
    const { input, cacheRead, cacheWrite } = answer.usage
    spent.usd += dollars(request.model, answer.usage)
    spent.read += cacheRead
    spent.input += input + cacheRead + cacheWrite
    return answer
  }
  const models = { provider: () => ({ call }), door: () => undefined } as unknown as Models
  const agent = createAgentRunner(core, models, createMessageTable(core.db.index))
  const run = async (job: keyof typeof directives, told: Prefix, answers: Answer[], more: Partial<Task> = {}) => {
    spent = { usd: 0, read: 0, input: 0 }
    api.next(...answers)
    const { ended, why, cache } = await agent.run({
      ...usualTask(home),
      ...more,
      job,
      prefix: told,
      directive: directives[job](turn),
    })
    if (cache?.cache === 'break') throw new Error(`the cache broke after turn ${turn}: ${JSON.stringify(cache)}`)
    if (ended !== 'done') throw new Error(`${job} after turn ${turn} ${ended}: ${why}`)
    costs.push({ turn, job, ...spent })
  }
  try {
    const messages: NamedMessage[] = []
    let tokens = 0
    let notedTokens = NOTES.firstTokens - NOTES.growthTokens
    for (const said of session) {
      turn++
      messages.push(...said)
      tokens += said.reduce((sum, message) => sum + tokensIn(renderMessage(1, message, partsOf(message), {}).text), 0)
      api.pass(turn % LONG_TURN.every === 0 ? LONG_TURN.ms : TURN_MS)
      const prefixFor = async (model: string, keep: '1h' | 'nothing') =>
        prefix === 'shared'
          ? (await agent.prefixOf({ key: KEY, notes: () => notesAt(turn), model }, messages, keep)).prefix
          : daemonPrefix({ key: `s${turn}`, model, keep: 'nothing' }, wholeOf(messages))
      await run(
        'extraction',
        await prefixFor(SMALL, '1h'),
        turn % SAVES_EVERY === 0 ? saving(prefix) : [says('Nothing to save.')],
      )
      if (tokens - notedTokens >= NOTES.growthTokens) {
        notedTokens = tokens
        await run('notes', await prefixFor(SMALL, '1h'), noting(prefix), notesTask(home))
      }
      if (compactAt.includes(turn))
        await run('compaction', await prefixFor(LARGE, 'nothing'), [says(words(2_500))], { policy: { may: 'nothing' } })
    }
    return costs
  } finally {
    await core.stop(0)
    await api.close()
  }
}

/** One answer that reads, one that writes, one that ends; the yardstick is spared the two that would cost it the most. */
function saving(prefix: Options['prefix']): Answer[] {
  if (prefix === 'whole') return [says(words(500))]
  return [
    calls(
      { id: 'r', name: 'Grep', input: { pattern: 'release' } },
      { id: 's', name: 'Bash', input: { command: 'ls' } },
    ),
    calls({ id: 'w', name: 'Write', input: { file_path: 'release.md', content: words(350) } }),
    says('Saved one.'),
  ]
}

function noting(prefix: Options['prefix']): Answer[] {
  if (prefix === 'whole') return [says(words(700))]
  return [
    calls({ id: 'n', name: 'Edit', input: { file_path: 'notes.md', old_string: 'nothing', new_string: words(700) } }),
  ]
}

function notesTask({ dir }: Folder): Partial<Task> {
  const notes = 'nothing\n'
  writeFileSync(join(dir, 'notes.md'), notes)
  const shown = [{ file: 'notes.md', hash: hash('sha256', notes) }]
  return { policy: { may: 'notes', file: 'notes.md' }, shown, until: 'changed' }
}

/** In the same words, from the first message on. */
function wholeOf(messages: readonly NamedMessage[]): Rendered {
  const texts = messages.map((message, n) => renderMessage(n + 1, message, partsOf(message), {}).text)
  return {
    head: '<transcript>\n',
    messages: texts.map((text, n) => ({ id: `${n}`, name: `${n}`, text, hash: '' })),
    tokens: 0,
  }
}

function usualTask(home: Folder): Omit<Task, 'job' | 'prefix' | 'directive'> {
  return {
    policy: { may: 'memory' },
    reach: { memoryDir: home.dir, readable: [], closed: [] },
    limits: { turns: 5, outputTokens: 100_000, wallMs: 600_000 },
    maxTokens: 8_000,
    atTurnLimit: 'apply',
    check: async () => undefined,
    cite: () => ({ evidence: [] }),
    apply: async () => {},
    ownsLease: () => true,
    signal: new AbortController().signal,
  }
}

function dollars(model: string, usage: Usage): number {
  return (costInNanos(usage, factsOf(model)) ?? Number.NaN) / 1e9
}
