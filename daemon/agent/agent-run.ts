/**
 * A run of a model over a prefix that jobs share, with one task. Everything it changes is applied together at its end, or
 * nothing is. Each has its own view of the files, its own limits and its own counts, and none can start another.
 */
import { MemoryError } from '../../schema/errors.ts'
import type { ModelFailure, Provider, Usage } from '../models/provider.ts'
import type { Clock } from '../platform/clock.ts'
import type { CacheVerdict, CacheWatch } from './cache-watch.ts'
import { type Limits, type LoopReport, runLoop, type Turn } from './loop.ts'
import { createPlaces, type Policy, type Reach } from './permissions.ts'
import type { Prefix } from './prefix.ts'
import { createToolRuns } from './tool-runner.ts'
import { type ChangeDeps, createOverlay, createWorkspace, type Draft } from './working-copy.ts'

export type Task = {
  /** What for: extraction, notes, dream, compaction. */
  job: string
  /** Whose money it is counted as. */
  project?: string
  prefix: Prefix
  directive: string
  policy: Policy
  reach: Reach
  limits: Limits
  maxTokens: number
  /** Extraction keeps what was accepted until then; for everything else it is a failure. */
  atTurnLimit: 'apply' | 'fail'
  /** Whether one answer whose changes were all accepted is the end of it. */
  until?: 'done' | 'changed'
  /** Files that the directive itself has shown, from the memory directory on, and the SHA-256 of what it has shown. */
  shown?: readonly { file: string; hash: string }[]
  check: ChangeDeps['check']
  cite: ChangeDeps['cite']
  /** All of it or nothing. Not called where nothing was changed. */
  apply: (drafts: readonly Draft[]) => Promise<unknown>
  /** Whether the run is still the one that counts. */
  stillOurs: () => boolean
  signal: AbortSignal
  onTurn?: (turn: Turn & { files: string[] }) => void
  /** What its tools have shown the model. */
  onShown?: (text: string) => void
}

export type ForkReport = {
  ended: 'done' | 'truncated' | 'failed' | 'aborted'
  why: string | undefined
  /** Where a call failed: whoever runs jobs decides by it. */
  failure: ModelFailure | undefined
  /** Where an answer was good for nothing. */
  answer?: 'useless' | undefined
  text: string
  /** The files that were changed; none unless all were. */
  files: string[]
  turns: number
  denials: number
  /** Those that would have changed something that is no memory. */
  astray: number
  account: Account
  cache: CacheVerdict | undefined
}

export type ForkDeps = {
  /** Minds the budget of what it is for. */
  provider: (purpose: { job: string; project?: string }) => Provider
  cacheWatch: CacheWatch
  clock: Clock
  /** Where the system's grep is looked for. */
  searchPath: string
  redact: (text: string) => Promise<string>
  priceOf: (model: string, usage: Usage) => number | undefined
  /** What is worth a line in the log: numbers, no words of anybody. */
  log: (facts: { job: string } & Omit<ForkReport, 'text' | 'why' | 'failure' | 'files' | 'answer'>) => void
  onDenied: (facts: { job: string; tool: string }) => void
}

export function createForks(deps: ForkDeps) {
  const { provider, cacheWatch, clock, searchPath, redact, priceOf, log, onDenied } = deps
  return async (task: Task): Promise<ForkReport> => {
    const { job, prefix, policy, cite } = task
    const { signal, check, throwIfBroken } = minded(task)
    const places = createPlaces(task.reach)
    const overlay = createOverlay()
    const workspace = createWorkspace({ places, overlay })
    for (const { file, hash } of task.shown ?? []) workspace.shown(file, 'whole', hash)
    workspace.delivered()
    const tools = createToolRuns({
      ...{ policy, places, workspace, overlay, check, cite, clock, searchPath, redact, reason: job },
      onDenied: (tool) => onDenied({ job, tool }),
      onShown: task.onShown ?? (() => {}),
    })
    const expected = cacheWatch.expect(prefix)
    const asked = prefix.request(await redact(task.directive), expected.since, task.maxTokens)
    const { call } = provider({ job, ...(task.project !== undefined && { project: task.project }) })
    const loop = await runLoop({
      ...{ call, tools, clock, signal, limits: task.limits, marks: prefix.marks, until: task.until ?? 'done' },
      request: { model: prefix.model, maxTokens: task.maxTokens, ...asked },
      priceOf: (usage) => priceOf(prefix.model, usage),
      onTurn: (turn) => task.onTurn?.({ ...turn, files: overlay.drafts().map(({ file }) => file) }),
    })
    throwIfBroken()
    const [first] = loop.calls
    const cache = first && cacheWatch.judge(prefix, expected, first)
    const end = await settle(loop, overlay.drafts(), task)
    const counts = {
      turns: loop.turns,
      denials: tools.denials(),
      astray: tools.astray(),
      account: accountOf(loop.calls),
      cache,
    }
    log({ job, ended: end.ended, ...counts })
    return { ...end, text: loop.text, ...counts }
  }
}

/** A check that breaks is no answer for a model, which would go on without what it wanted to keep: it ends the run. */
function minded({ signal, check }: Pick<Task, 'signal' | 'check'>) {
  const broken = new AbortController()
  let why: { error: unknown } | undefined
  return {
    signal: AbortSignal.any([signal, broken.signal]),
    check: async (draft: Draft) => {
      try {
        return await check(draft)
      } catch (error) {
        why ??= { error }
        broken.abort()
        return 'it could not be looked at'
      }
    },
    throwIfBroken: () => {
      if (why) throw why.error
    },
  }
}

type Settled = Pick<ForkReport, 'ended' | 'why' | 'failure' | 'files' | 'answer'>

async function settle(loop: LoopReport, drafts: readonly Draft[], task: Task): Promise<Settled> {
  const nothing = { failure: undefined, files: [] }
  const isTruncated = loop.ended === 'limit' && loop.limit === 'turns' && task.atTurnLimit === 'apply'
  if (loop.ended === 'aborted') return { ...nothing, ended: 'aborted', why: loop.why }
  if (loop.ended === 'failed')
    return { ...nothing, ended: 'failed', why: loop.why, failure: loop.failure, answer: loop.answer }
  if (loop.ended === 'limit' && !isTruncated) return { ...nothing, ended: 'failed', why: loop.why, answer: loop.answer }
  const files = drafts.map(({ file }) => file)
  if (task.signal.aborted) return { ...nothing, ended: 'aborted', why: 'it was stopped' }
  if (!task.stillOurs()) return { ...nothing, ended: 'aborted', why: 'somebody else has taken it over' }
  try {
    if (files.length > 0) await task.apply(drafts)
  } catch (error) {
    // A person may have changed a file in the meantime. Whatever else goes wrong is nobody's answer.
    if (error instanceof MemoryError && error.code !== 'DEGRADED')
      return { ...nothing, ended: 'failed', why: error.message }
    throw error
  }
  if (isTruncated) return { ...nothing, files, ended: 'truncated', why: loop.why }
  return { ...nothing, files, ended: 'done', why: undefined }
}

/** What a run used, added up. Pure. */

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

/** What a run that came to nothing means for the job it was for. Pure. */

/** `of: 'part'`: what was asked is why; asked about something else, the model may answer. */
export type NotDone = (
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }
) & { of?: 'part' }

/** What a server says of a request that it does not take as it is. Not that it knows no such model. */
const OF_REQUEST = [400, 413, 422]

/** `undefined`: it did what it was for. */
export function whyNotDone({ ended, why = 'it was given up', failure, answer }: ForkReport): NotDone | undefined {
  if (ended === 'done' || ended === 'truncated') return undefined
  if (!failure) return { retry: why, ...(answer === 'useless' && PART) }
  if (failure.failed === 'offline' || failure.failed === 'budget') return { wait: why, untilMs: failure.untilMs }
  const of = isOfPart(failure) ? PART : {}
  return failure.permanent ? { refuse: why, ...of } : { retry: why, afterMs: failure.retryAfterMs, ...of }
}

const PART = { of: 'part' as const }

function isOfPart({ failed, status }: ModelFailure): boolean {
  if (failed === 'refused' || failed === 'garbage') return true
  return failed === 'bad-request' && (status === undefined || OF_REQUEST.includes(status))
}
