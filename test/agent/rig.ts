/** A real core with what tools may read and change, and beside it what they may not; the real memory writer, no model. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Draft, Policy, Task } from '../../daemon/agent/agent.ts'
import { createPlaces } from '../../daemon/agent/permissions.ts'
import { createToolRunner } from '../../daemon/agent/tool-runner.ts'
import { createWorkingCopy } from '../../daemon/agent/working-copy.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { message } from '../../daemon/platform/files.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'
import { topic } from '../support/memory.ts'
import { createTestWriter } from '../support/writer.ts'

export const SENTINEL = 'sentinel-of-the-outside'

export async function agentGround(options: { settings?: Record<string, unknown>; env?: Environment } = {}) {
  // Calls of tools end by the real clock.
  const time = { ...manualTime(), clock: createClock() }
  const { core, home: place, places } = await testCore({ ...options, time })
  const home = place.dir
  const memory = join(home, 'memory')
  const project = join(home, 'project')
  const transcripts = join(home, 'transcripts')
  const outside = join(home, 'outside')
  for (const dir of [memory, project, transcripts, outside]) mkdirSync(dir, { mode: 0o700 })
  const { clock, db: store, stateDir: state } = core
  const journal = createJournal(store.history)
  const writer = createTestWriter(core, journal)
  const by = { actor: 'agent:extraction', reason: 'a run', runId: 'run-1' }
  const put = (file: string, body: string) => writeFileSync(join(memory, file), topic(body), { mode: 0o600 })
  const reach = { memoryDir: memory, readable: [project, transcripts], closed: [state] }
  const check = (draft: Draft) =>
    writer.check(memory, draft, by).then(
      () => undefined,
      (error) => message(error),
    )
  const task = {
    job: 'extraction',
    directive: 'Save what matters.',
    policy: { may: 'memory' },
    reach,
    limits: { turns: 5, outputTokens: 20_000, wallMs: 60_000 },
    maxTokens: 4_000,
    atTurnLimit: 'apply',
    check,
    cite: (ids: readonly string[]) => ({
      evidence: ids.map((id) => ({ sessionId: 's', messageIds: [id], excerpt: '', at: '2026-01-01T00:00:00.000Z' })),
    }),
    apply: (drafts: readonly Draft[]) => writer.write(memory, drafts, by),
    ownsLease: () => true,
    signal: new AbortController().signal,
  } satisfies Omit<Task, 'prefix'>
  /** Lines of the log with this message. */
  const logged = (msg: string) =>
    readFileSync(places.logFile, 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
      .filter((line) => line.msg === msg)
  const denied = () => logged('a model asked for what it may not have').map(({ job, tool }) => ({ job, tool }))
  const tools = (policy: Policy = { may: 'memory' }, { memoryDir = memory, ...given }: Partial<Task & Reach> = {}) => {
    const inReach = createPlaces({ ...reach, memoryDir })
    const copy = createWorkingCopy(inReach)
    const runner = createToolRunner(core, { ...task, policy, ...given } as Task, inReach, copy)
    const run = async (name: string, input: unknown) => {
      const answer = await runner.run({ name, input }, task.signal)
      runner.delivered()
      return answer
    }
    return { run, runner, copy }
  }
  return {
    core,
    home,
    memory,
    project,
    transcripts,
    state,
    outside,
    store: core.db,
    journal,
    put,
    reach,
    clock,
    task,
    logged,
    denied,
    tools,
  }
}
type Reach = { memoryDir: string }
export type Ground = Awaited<ReturnType<typeof agentGround>>
