/** A runner over a real store, with time that a test moves and runs that a test ends. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import type { Claimed, Due, JobKind, Outcome, RunContext } from '../../daemon/jobs/job.ts'
import { createJobClaims, createJobTable, type JobClaims } from '../../daemon/jobs/job-table.ts'
import { createRunner } from '../../daemon/jobs/runner.ts'
import { createModels, type Models } from '../../daemon/models/models.ts'
import { testCore } from './core.ts'
import { makeHome } from './home.ts'

export const START_MS = Date.UTC(2026, 0, 1)

export const due = (key: string, watermark: string, more: Partial<Due> = {}): Due => ({
  kind: 'plain',
  key,
  watermark,
  input: { upTo: watermark },
  ...more,
})

/** Lets everything that waits for nothing but its turn have it: runs have theirs one after the other, and each several. */
export const settled = async () => {
  for (let turns = 0; turns < 16; turns++) await new Promise<void>((resolve) => setImmediate(resolve))
}

export type Held = { job: Claimed; context: RunContext; end(outcome: Outcome): Promise<void> }

/** A kind whose runs stand still until the test ends them. */
export function heldKind(name: string, { model = 'never' }: Partial<Pick<JobKind, 'model'>> = {}) {
  const runs: Held[] = []
  const kind: JobKind = {
    name,
    model,
    run: (job, context) =>
      new Promise((resolve) =>
        runs.push({
          job,
          context,
          end: async (outcome) => {
            resolve(outcome)
            await settled()
          },
        }),
      ),
  }
  return { kind, runs }
}

type Waits = { postponed: string; untilMs?: number } | undefined

/** The tables alone; `claim` takes the next job of the kind `due` makes. */
export function jobTables() {
  const state = join(makeHome().dir, 'state')
  const store = openDatabases(state, START_MS)
  onTestFinished(() => store.close())
  const claims = createJobClaims(store.index)
  const sorts = [{ kinds: ['plain'], atOnce: 100 }]
  const claim = (owner: string, nowMs = START_MS) =>
    claims.claim({ owner, nowMs, sorts, low: [], dirOf: () => undefined, busy: [] })
  return { state, store, jobs: createJobTable(store.index), claims, claim }
}

/** `model`: what a model answers to whether it is there and may be asked. */
export async function jobRig(kinds: readonly JobKind[]) {
  const { core, time, places } = await testCore()
  const model: { waits: Waits; online: boolean } = { waits: undefined, online: true }
  const others = { busy: false, restMs: 0 }
  const looks = { times: 0 }
  const models: Models = {
    ...createModels(core),
    mode: () => (model.online ? 'online' : 'offline'),
    waits: () => model.waits,
  }
  const jobs = createJobTable(core.db.index)
  const claims = createJobClaims(core.db.index)
  const counted: JobClaims = {
    ...claims,
    claim: (claim) => {
      looks.times++
      return claims.claim(claim)
    },
  }
  const givingWay = { ...core.givingWay, begin: () => () => others.restMs }
  const newRunner = () => {
    // The longest a jitter can make of it.
    const runner = createRunner({ ...core, givingWay }, models, jobs, counted, () => 1)
    runner.register(...kinds)
    runner.holdLowWhile(() => others.busy)
    return runner
  }
  const news: string[] = []
  core.events.subscribe((event) => {
    if (event.type === 'job') news.push(`${event.key} ${event.progress ?? event.state}`)
  })
  const logged = () => readFileSync(places.logFile, 'utf8')
  const runner = newRunner()
  return { core, store: core.db, jobs, claims, looks, time, runner, newRunner, logged, news, model, others }
}

export type JobRig = Awaited<ReturnType<typeof jobRig>>
