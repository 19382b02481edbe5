/** Runs of models over a session: from the harness's own request where it handed one over, else from our rendering. */
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Evidence } from '../memory/journal.ts'
import type { Models } from '../models/models.ts'
import { costInNanos, factsOf } from '../models/prices.ts'
import type { ModelFailure, Usage } from '../models/wire.ts'
import type { MessageTable, SessionKey } from '../sessions/message-table.ts'
import { sessionName } from '../sessions/sessions.ts'
import { type LoopReport, runLoop } from './loop.ts'
import { createPlaces } from './permissions.ts'
import {
  type CacheVerdict,
  type CacheWatch,
  createCacheWatch,
  createHarnessRequests,
  daemonPrefix,
  type HarnessRequest,
  harnessPrefix,
  type Keep,
  type LastWords,
  type Prefix,
} from './prefix.ts'
import { createRendering, readSession, type SessionMessage } from './rendering.ts'
import { createToolRunner } from './tool-runner.ts'
import { cleanText } from './tools.ts'
import { createWorkingCopy } from './working-copy.ts'

type Session = { key: SessionKey; model: string; notes: () => string }

/** `upTo`: the number of the last message that is told; `lastAt`: when it was said. */
type SessionPart = Session & { row: number; upTo: number; lastAt: number; signal: AbortSignal }

/** `names`: what a model calls each message, and its id. Empty where it has only seen the request of a harness. */
export type SessionPrefix = { prefix: Prefix; names: ReadonlyMap<string, string> }

/** After so long a break the person will not go on within the hour that a server keeps a prefix. */
const BREAK_MS = 3_600_000
/** Messages of a session; the rendering keeps fewer. */
const MOST_TOLD = 4_000

export function createAgentRunner(core: Core, models: Models, said: MessageTable) {
  const { clock, settings, stateDir } = core
  const cacheWatch = createCacheWatch(clock)
  const rendering = createRendering(core)
  const harnessRequests = createHarnessRequests(clock)

  const announceBreak = (key: SessionKey, because: string) => cacheWatch.announce(sessionName(key), because)

  const mayTakeFromHarness = () => settings.current().extraction.prefix === 'harness'

  const prefixOf = async ({ key, model, notes }: Session, messages: readonly SessionMessage[], keep: Keep) => {
    const name = sessionName(key)
    const params = mayTakeFromHarness() && harnessRequests.find(name, models.door(), lastWords(messages))
    if (params) return { prefix: harnessPrefix(name, params), names: new Map<string, string>() }
    const { broken, ...rendered } = await rendering.render({ key, messages, notes })
    if (broken) announceBreak(key, broken)
    const names = new Map(rendered.messages.map((message) => [message.name, message.id]))
    return { prefix: daemonPrefix({ key: name, model, keep }, rendered), names }
  }

  return {
    announceBreak,
    prefixOf,
    sessionPrefix: async ({ row, upTo, lastAt, signal, ...session }: SessionPart) => {
      const from = rendering.anchorOf(session.key)
      const messages = await readSession(said, { row, from, upTo, most: MOST_TOLD, signal })
      const keep = clock.now() - lastAt > BREAK_MS ? '5m' : '1h'
      return { messages, ...(await prefixOf(session, messages, keep)) }
    },
    /** For a job that is about no session; `key` says about what. */
    barePrefix: (key: string, model: string): Prefix => daemonPrefix({ key, model, keep: '5m' }),
    run: async (task: Task): Promise<RunReport> => {
      const report = await runTask(core, models, cacheWatch, task)
      if (task.prefix.kind === 'harness' && report.failure?.permanent) harnessRequests.drop(task.prefix.key)
      return report
    },
    keepHarnessRequest: (key: SessionKey, request: HarnessRequest): string | undefined => {
      return mayTakeFromHarness() ? harnessRequests.keep(sessionName(key), request) : 'extraction.prefix is not harness'
    },
    reachOf: (memoryDir: string, readable: readonly string[], files: readonly string[] = []): Reach => ({
      memoryDir,
      readable,
      files,
      closed: [stateDir, ...settings.current().private],
    }),
  }
}
export type Agent = ReturnType<typeof createAgentRunner>

function lastWords(messages: readonly SessionMessage[]): LastWords {
  const lastBy = (who: SessionMessage['by']) =>
    messages.findLast(({ by, text }) => by === who && text.trim() !== '')?.text
  return { agent: lastBy('agent'), person: lastBy('person') }
}

export type RunReport = {
  ended: 'done' | 'truncated' | 'failed' | 'aborted'
  why: string | undefined
  failure?: ModelFailure | undefined
  answer?: 'useless' | undefined
  text: string
  files: string[]
  turns: number
  denials: number
  /** Denials of changes outside of the memory directory. */
  astray: number
  account: ReturnType<typeof accountOf>
  cache: CacheVerdict | undefined
}

/** One run of a model over a prefix, with one task. Everything it changes is applied together at its end, or nothing is. */
async function runTask(core: Core, models: Models, cacheWatch: CacheWatch, given: Task): Promise<RunReport> {
  const { clock, log, settings } = core
  // A check that breaks ends the run: told of it, a model would go on without what it wanted to keep.
  const broken = new AbortController()
  const check = async (draft: Draft) => {
    try {
      return await given.check?.(draft)
    } catch (error) {
      broken.abort(error)
      return 'it could not be checked'
    }
  }
  const task = { ...given, check, signal: AbortSignal.any([given.signal, broken.signal]) }
  const { job, project, prefix, maxTokens, limits, until = 'done', signal } = task
  const places = createPlaces(task.reach)
  const copy = createWorkingCopy(places)
  for (const { file, hash } of task.shown ?? []) copy.shown(file, 'whole', hash)
  copy.delivered()
  const tools = createToolRunner(core, task, places, copy)
  const expected = cacheWatch.expect(prefix)
  const asked = prefix.request(await cleanText(task.directive), expected.since, maxTokens)
  const { call } = models.provider({ job, ...(project !== undefined && { project }) })
  const loop = await runLoop({
    ...{ call, tools, clock, signal, limits, marks: prefix.marks, until },
    request: { model: prefix.model, maxTokens, ...asked },
    priceOf: (usage) => {
      const nanos = costInNanos(usage, factsOf(prefix.model, settings.current().models))
      return nanos === undefined ? undefined : nanos / 1e9
    },
    onTurn: (turn) => task.onTurn?.({ ...turn, files: copy.drafts().map(({ file }) => file) }),
  })
  if (broken.signal.aborted) throw broken.signal.reason
  const [first] = loop.calls
  const cache = first && cacheWatch.compare(prefix, expected, first)
  const end = await settle(loop, copy.drafts(), given)
  const counts = {
    turns: loop.turns,
    denials: tools.denials(),
    astray: tools.astray(),
    account: accountOf(loop.calls),
    cache,
  }
  // Numbers only: a log keeps no words of a session.
  log.info({ job, ended: end.ended, ...counts }, 'a model was asked')
  return { ...end, text: loop.text, ...counts }
}

type Settled = Pick<RunReport, 'ended' | 'why' | 'failure' | 'files' | 'answer'>

async function settle(loop: LoopReport, drafts: readonly Draft[], task: Task): Promise<Settled> {
  const isTruncated = loop.ended === 'limit' && loop.limit === 'turns' && task.atTurnLimit === 'apply'
  if (loop.ended === 'aborted') return { ended: 'aborted', why: loop.why, files: [] }
  if (loop.ended === 'failed' || (loop.ended === 'limit' && !isTruncated)) {
    const { why, failure, answer } = loop
    return { ended: 'failed', why, failure, files: [], answer }
  }
  const files = drafts.map(({ file }) => file)
  if (task.signal.aborted) return { ended: 'aborted', why: 'it was stopped', files: [] }
  if (!task.ownsLease()) return { ended: 'aborted', why: 'another process has taken it over', files: [] }
  try {
    if (files.length > 0) await task.apply?.(drafts)
  } catch (error) {
    // A person may have changed a file in the meantime. Any other error is no outcome of the run.
    if (error instanceof MemoryError && error.code !== 'DEGRADED')
      return { ended: 'failed', why: error.message, files: [] }
    throw error
  }
  return isTruncated ? { ended: 'truncated', why: loop.why, files } : { ended: 'done', why: undefined, files }
}

function accountOf(calls: readonly Usage[]) {
  const sum = (of: (usage: Usage) => number) => calls.reduce((total, usage) => total + of(usage), 0)
  const read = sum(({ cacheRead }) => cacheRead)
  const created = sum(({ cacheWrite }) => cacheWrite)
  const uncached = sum(({ input }) => input)
  const all = read + created + uncached
  const hitPercent = all === 0 ? 0 : Math.round((1000 * read) / all) / 10
  return { calls: calls.length, read, created, uncached, output: sum(({ output }) => output), hitPercent }
}

/** What a run that came to nothing means for its job. `of: 'part'`: asked about something else, the model may answer. */
export type NotDone = (
  | { failed: string; afterMs?: number | undefined }
  | { postponed: string; untilMs?: number | undefined }
  | { rejected: string }
) & { of?: 'part' }

/** Statuses for a request that the server does not take. 404 is not among them: it means the model. */
const OF_REQUEST = [400, 413, 422]
const PART = { of: 'part' as const }

export function whyNotDone({ ended, why = 'it was given up', failure, answer }: RunReport): NotDone | undefined {
  if (ended === 'done' || ended === 'truncated') return undefined
  if (!failure) return { failed: why, ...(answer === 'useless' && PART) }
  if (failure.failed === 'offline' || failure.failed === 'budget') return { postponed: why, untilMs: failure.untilMs }
  const of = isOfPart(failure) ? PART : {}
  return failure.permanent ? { rejected: why, ...of } : { failed: why, afterMs: failure.retryAfterMs, ...of }
}

function isOfPart({ failed, status }: ModelFailure): boolean {
  if (failed === 'refused' || failed === 'garbage') return true
  return failed === 'bad-request' && (status === undefined || OF_REQUEST.includes(status))
}

/** `memory`: reads what is in reach and changes memories. `notes`: edits that one file. `nothing`: a summary is text. */
export type Policy = { may: 'memory' } | { may: 'notes'; file: string } | { may: 'nothing' }

/** `readable`: folders. `files`: single files, and nothing beside them. `closed`: never, though they may be inside. */
export type Reach = {
  memoryDir: string
  readable: readonly string[]
  files?: readonly string[]
  closed: readonly string[]
}

/** `turns`: answers of the model. `usd`: left out where the price of the model is unknown. */
export type Limits = { turns: number; outputTokens: number; wallMs: number; usd?: number }

export type Turn = { turn: number; text: string; tools: string[]; usage: Usage }

/** `content`: `null` takes it away. `expect`: the hash of what was there when the run first saw it, `null` for nothing. */
export type Draft = {
  file: string
  content: string | null
  expect: string | null
  because: { reason: string; evidence: readonly Evidence[] }
}

export type Task = {
  /** Also the reason of a change where the model gives none. */
  job: string
  /** For which its cost is counted. */
  project?: string
  prefix: Prefix
  directive: string
  policy: Policy
  reach: Reach
  limits: Limits
  maxTokens: number
  /** Extraction keeps what was accepted until then; for everything else it is a failure. */
  atTurnLimit: 'apply' | 'fail'
  /** `changed`: one answer whose changes were all accepted is enough; to be told so costs another call. */
  until?: 'done' | 'changed'
  shown?: readonly { file: string; hash: string }[]
  /** Why the change would be refused when it is applied. */
  check?: (draft: Draft) => Promise<string | undefined>
  /** What the named messages say, or those that the content itself names; a change that rests on none that counts is refused. */
  cite?: (ids: readonly string[], content: string | null) => { evidence: Evidence[] } | { refused: string }
  /** All of it or nothing. Not called where nothing was changed. */
  apply?: (drafts: readonly Draft[]) => Promise<unknown>
  ownsLease: () => boolean
  signal: AbortSignal
  onTurn?: (turn: Turn & { files: string[] }) => void
  onShown?: (text: string) => void
}
