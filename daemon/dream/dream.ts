/**
 * One dream, in numbered steps: the lock, what there is, what a model makes of it, what rules make of that, all of it at once
 * or nothing. Whatever goes wrong, the directory is as it was, the lock as well, and the reason is in the report.
 */
import { existsSync } from 'node:fs'
import type { DreamFacts, Spent } from '../../schema/dream.ts'
import { driftOf, type Mention, projectAt } from '../memory/drift.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Touched, TouchedSession } from '../sessions/sessions.ts'
import { type DailyLog, dailyLogs } from './daily-logs.ts'
import type { DreamLock, HeldLock } from './dream-lock.ts'
import {
  type DreamProgress,
  type Ended,
  endedBy,
  NOTHING_SPENT,
  type NotDone,
  notAtOnce,
  noticeOf,
  type Settled,
  type Watched,
  whyDenied,
  whyNotAcquired,
} from './dream-report.ts'
import { type Dream, type Dreams, isAtEnd } from './dream-table.ts'
import { believed, type Trigger } from './gates.ts'
import { type Draft, type Plan, planDream, type SeenDirectory } from './plan.ts'

/** `cwd`: where the project is. `session`: the one whose turn ended, if one's did. */
export type DreamInput = { cwd: string; trigger: Trigger; session?: { harness: string; sessionId: string } }

export type Job = { id: string; key: string; watermark: string; input: unknown }
type At = { signal: AbortSignal; progress(text: string): void; stillOurs(): boolean }
export type Outcome = { done: unknown; runId?: string } | NotDone

/** What is asked of a model, and what it made of it. */
export type Asking = {
  dir: string
  root: string
  runId: string
  seen: SeenDirectory
  sessions: readonly TouchedSession[]
  lastMs: number | undefined
  drift: readonly { file: string; missing: readonly Mention[] }[]
  logs: readonly DailyLog[]
  maxDeletions: number
  onTurn: (turn: { turn: number; text: string; tools: string[]; files: string[] }, spent: Spent) => void
  stillOurs: () => boolean
  signal: AbortSignal
}
export type Asked = { turns: number; denials: number; spent: Spent } & (
  | { drafts: readonly Draft[] }
  | { not: NotDone; why: string }
  | { aborted: string }
)

export type DreamDeps = {
  lock: DreamLock
  dreams: Dreams
  touched: Touched
  progress: DreamProgress
  rootsOf: (dir: string) => string[]
  placeOf: (cwd: string) => { root: string; off: string | undefined }
  /** Whether there is a model to ask, or why to wait for it. */
  model: () => 'there' | 'none' | { wait: string; untilMs?: number | undefined }
  ask: (asking: Asking) => Promise<Asked>
  read: (dir: string) => SeenDirectory
  consolidate: (run: {
    dir: string
    runId: string
    plan(seen: SeenDirectory): Plan
    inTransaction(plan: Plan, settled: Settled): () => void
    mayWrite(): boolean
  }) => Promise<{ plan: Plan; settled: Settled } | 'lost'>
  /** Tells the session, within the transaction; returns how to take that back. */
  notify: (session: { harness: string; sessionId: string }, text: string) => () => void
  newRunId: (nowMs: number) => string
  maxDeletions: () => number
  blamesDisk: (error: unknown) => boolean
  clock: Pick<Clock, 'now'>
}

const LISTED_SESSIONS = 100

export function createDream(deps: DreamDeps) {
  const { lock, dreams, touched, progress, rootsOf, placeOf, model, ask, read, consolidate, notify, clock } = deps
  const killed = new Set<string>()

  const run = async (job: Job, at: At): Promise<Outcome> => {
    const input = job.input as DreamInput
    const dir = job.key
    const { root, off } = placeOf(input.cwd)
    // 1. Whether it may be, still.
    if (off !== undefined) return { done: { skipped: `memory is off: ${off}` } }
    if (!existsSync(dir)) return { done: { skipped: 'there are no memories' } }
    const means = model()
    if (typeof means === 'object') return means

    // 2. Nobody else is at it.
    const beganMs = clock.now()
    const runId = deps.newRunId(beganMs)
    const acquired = lock.acquire(dir, runId)
    if (!('lock' in acquired)) return { done: { skipped: whyNotAcquired(acquired) } }
    const watched = progress.begin(dir, { project: root, jobId: job.id })
    const dream = { runId, dir, watermark: job.watermark, trigger: input.trigger, beganMs }
    let outcome: Ended
    try {
      outcome = await perform({ dream, root, input, means, held: acquired.lock, watched, at })
    } catch (error) {
      outcome = failed(error)
    }
    const ending = end(job, dream, outcome, acquired.lock, watched)
    if (outcome.surprise !== undefined) throw outcome.surprise
    return ending
  }

  const perform = async ({ dream, root, input, means, held, watched, at }: Performance): Promise<Ended> => {
    const { dir, runId } = dream
    // 3. What there is.
    const seen = read(dir)
    const lastMs = believed(held.lastMs, dream.beganMs)
    const since = { projects: rootsOf(dir), sinceMs: lastMs ?? 0 }
    const sessions = touched.list({ ...since, except: input.session }, LISTED_SESSIONS)
    const project = projectAt(root)
    const drift = seen.memories
      .map(({ file, text }) => ({ file, missing: driftOf(text, project) }))
      .filter(({ missing }) => missing.length > 0)
    const { logs, left, to } = dailyLogs(dir, dreams.unreadSince(dir, lastMs))
    watched.about(sessions.length)

    // 4. What a model makes of it. Nothing is on disk yet.
    const maxDeletions = deps.maxDeletions()
    let soFar: Asked = { turns: 0, denials: 0, spent: NOTHING_SPENT, drafts: [] }
    const isAsked = means === 'there' && (seen.memories.length > 0 || logs.length > 0)
    const asking = {
      ...{ dir, root, runId, seen, sessions, lastMs, drift, logs, maxDeletions },
      onTurn: ((turn, spent) => {
        soFar = { ...soFar, turns: turn.turn, spent }
        watched.turn(turn, spent)
        at.progress(`turn ${turn.turn}, ${turn.files.length} files`)
      }) satisfies Asking['onTurn'],
      stillOurs: at.stillOurs,
      signal: at.signal,
    }
    const asked = isAsked ? await orFailed(ask(asking)) : soFar
    // What it has cost is told, however it ended.
    const { turns, denials, spent } = 'outcome' in asked ? soFar : asked
    const facts = {
      mode: means === 'there' ? ('model' as const) : ('rules' as const),
      ...{ sessions: sessions.length, drifted: drift.length, logs: logs.length, turns, denials, spent },
      ...(to !== undefined && { logsLeft: left, logsTo: to }),
    }
    if ('outcome' in asked) return { ...asked, facts }
    if ('not' in asked) return { outcome: 'failed', why: asked.why, facts, not: asked.not }
    if ('aborted' in asked || at.signal.aborted)
      return { outcome: 'killed', why: 'aborted' in asked ? asked.aborted : 'it was stopped', facts }

    // 5. What rules make of that, whether anything would be lost, and all of it at once.
    const heard = logs.map(({ text }) => text).join('\n')
    const told = input.session ?? sessionOf(sessions[0])
    watched.updating()
    const offNow = () => placeOf(input.cwd).off
    const done = await orFailed(
      consolidate({
        dir,
        runId,
        plan: (now) => planDream(now, { drafts: asked.drafts, maxDeletions, heard }),
        inTransaction: ({ counts }, settled) => {
          const why = settled.how === 'review' ? settled.why : whyDenied(denials)
          dreams.add(rowOf(dream, { outcome: settled.how, why, facts: { ...facts, ...counts } }))
          const untell = told && settled.how !== 'nothing' ? notify(told, noticeOf(settled, counts, spent)) : undefined
          return () => {
            dreams.remove(runId)
            untell?.()
          }
        },
        mayWrite: () => at.stillOurs() && !at.signal.aborted && held.isOurs() && offNow() === undefined,
      }),
    )
    if (done !== 'lost' && 'outcome' in done) return { ...done, facts }
    if (done === 'lost') {
      const off = offNow()
      const why = off === undefined ? 'somebody else has taken it over' : `memory is off: ${off}`
      return { outcome: 'killed', why, facts }
    }
    return { outcome: done.settled.how, facts: { ...facts, ...done.plan.counts }, isOnRecord: true }
  }

  const rowOf = (dream: Begun, { outcome, why, facts }: Pick<Dream, 'outcome' | 'why' | 'facts'>): Dream => ({
    ...dream,
    endedMs: clock.now(),
    outcome,
    why,
    facts,
  })

  const failed = (error: unknown): Ended => endedBy(error, deps.blamesDisk)
  const orFailed = <T>(work: Promise<T>): Promise<T | Ended> => work.catch(failed)

  // 6. The lock last: whoever dies before it left a note of how to put it back.
  const end = (job: Job, dream: Begun, ended: Ended, held: HeldLock, watched: Watched): Outcome => {
    const { outcome, why, facts, isOnRecord, not } = ended
    const isDone = isAtEnd(outcome)
    const isKilled = killed.delete(job.id)
    try {
      if (!isOnRecord && (outcome !== 'killed' || isKilled)) dreams.add(rowOf(dream, { outcome, why, facts }))
    } finally {
      watched.end(isDone ? 'completed' : outcome === 'killed' ? 'killed' : 'failed', why)
      if (isDone) held.succeed()
      else held.rollBack()
    }
    if (isDone) return { done: { outcome, ...numbersOf(facts) }, runId: dream.runId }
    return notAtOnce(not ?? { retry: why ?? 'it was stopped' }, facts)
  }

  return {
    name: 'dream',
    model: 'if-online' as const,
    covered: ({ key, watermark }: Job) => dreams.covers(key, watermark),
    run: (job: Job, at: At): Promise<Outcome> =>
      run(job, at).catch((error) => {
        if (deps.blamesDisk(error)) return { wait: message(error) }
        throw error
      }),
    killed: ({ id }: Job) => void killed.add(id),
  }
}

type Begun = Pick<Dream, 'runId' | 'dir' | 'watermark' | 'trigger' | 'beganMs'>
type Performance = {
  dream: Begun
  root: string
  input: DreamInput
  means: 'there' | 'none'
  held: HeldLock
  watched: Watched
  at: At
}

function sessionOf(session: TouchedSession | undefined): { harness: string; sessionId: string } | undefined {
  return session && { harness: session.harness, sessionId: session.id }
}

function numbersOf({ created, merged, updated, removed }: Partial<DreamFacts>) {
  return { created, merged, updated, removed }
}
