/** A runner over a real store, with time that a test moves and runs that a test ends. */
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import type { Claimed, Due, JobKind, Outcome, RunContext } from '../../daemon/jobs/job.ts'
import { createJobClaims, createJobTable } from '../../daemon/jobs/job-table.ts'
import { createRunner } from '../../daemon/jobs/runner.ts'
import { manualTime } from './clock.ts'
import { makeHome } from './home.ts'

export const START_MS = Date.UTC(2026, 0, 1)

export const due = (key: string, watermark: string, more: Partial<Due> = {}): Due => ({
  kind: 'plain',
  key,
  watermark,
  input: { upTo: watermark },
  ...more,
})

/** Lets everything that waits for nothing but its turn have it: the look after a run has one of its own, and so has each run. */
export const settled = async () => {
  for (let turns = 0; turns < 4; turns++) await new Promise<void>((resolve) => setImmediate(resolve))
}

export type Held = { job: Claimed; context: RunContext; end(outcome: Outcome): Promise<void> }

/** A kind whose runs stand still until the test ends them. */
export function heldKind(name: string, { model = false }: { model?: boolean } = {}) {
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

export function jobRig(kinds: readonly JobKind[]) {
  const { store, jobs, claims } = jobTables()
  const time = manualTime(START_MS)
  const errors: unknown[] = []
  const news: string[] = []
  const model: { waits: Waits; online: boolean } = { waits: undefined, online: true }
  const others = { busy: false, restMs: 0 }
  const looks = { times: 0 }
  const newRunner = () =>
    createRunner({
      jobs,
      claims: {
        ...claims,
        claim: (claim) => {
          looks.times++
          return claims.claim(claim)
        },
      },
      kinds,
      clock: time.clock,
      // The longest a jitter can make of it.
      random: () => 1,
      isBusy: () => others.busy,
      givingWay: { begin: () => () => others.restMs },
      isOnline: () => model.online,
      modelWaits: () => model.waits,
      onNews: (job, progress) => news.push(`${job.key} ${progress ?? job.state}`),
      onError: (error) => errors.push(error),
    })
  const runner = newRunner()
  return { store, jobs, claims, looks, time, runner, newRunner, errors, news, model, others }
}

export type JobRig = ReturnType<typeof jobRig>
