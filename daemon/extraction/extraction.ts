/**
 * After a turn: looks through what is new in a session and has saved what will matter later, once. With a model it is the
 * one to find it, without one rules do. Numbered so that a kill at any point leaves either nothing or all of a part.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Agent } from '../agent/agent.ts'
import { whyNotDone } from '../agent/agent-run.ts'
import type { Prefix } from '../agent/prefix.ts'
import type { Databases } from '../db/databases.ts'
import { evidenceIn, markUntrusted, memoryOf } from '../memory/change-run.ts'
import { logFile } from '../memory/file-names.ts'
import type { Memory } from '../memory/memory.ts'
import type { Model } from '../models/model.ts'
import type { Clock } from '../platform/clock.ts'
import { isDiskTrouble } from '../platform/disk.ts'
import { message } from '../platform/files.ts'
import { endedPart } from '../sessions/ended-part.ts'
import type { Said, SaidMessage, SaidSession, SessionKey } from '../sessions/message-table.ts'
import { createNotices, createProgress, type ProgressTable, type Reached } from '../sessions/notices.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { createByModel } from './by-model.ts'
import { byHand, createByRules } from './by-rules.ts'
import { createReading, type Reading, slicesOf, turnsOf, writesInto } from './session-words.ts'
import { createTelling } from './telling.ts'

type Settings = { enabled: boolean; everyTurns: number; nonInteractive: boolean }

type Deps = {
  said: Said
  progress: ProgressTable
  reading: Reading
  /** Where the memories of a folder are, and why memory is off there, if it is. */
  placeOf: (cwd: string) => { dir: string; off: string | undefined }
  byRules: (slice: Slice) => Promise<Kept>
  byModel: (slice: Slice) => Promise<Kept>
  isOnline: () => boolean
  /** Tells the session; returns how to take that back. */
  notify: (session: SessionKey, files: string[]) => () => void
  settings: () => Settings
  home: string
  blamesDisk: (error: unknown) => boolean
  clock: Pick<Clock, 'now'>
}

type Job = { input: unknown; attempts: number }
type At = { signal: AbortSignal; stillOurs(): boolean }
type Outcome =
  | { done: unknown; runId?: string | undefined; truncated?: true | undefined }
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }

const KIND = 'extract'
/** By then it was no accident. */
const LAST_ATTEMPT = 3
const DISK_MS = 600_000
const LOST: Outcome = { retry: 'somebody else is at it' }

export function createExtraction(deps: Deps) {
  const { said, progress, reading, placeOf, byRules, byModel, isOnline, notify, settings, home, blamesDisk, clock } =
    deps
  const keyOf = ({ harness, sessionId }: SessionKey) => ({ harness, session: sessionId, kind: KIND })

  const look = (input: SessionKey) => {
    const session = said.session(input.harness, input.sessionId)
    const part = session ? endedPart(said.after(session.row, progress.find(keyOf(input)))) : []
    return { session, part }
  }

  /** Why nothing is to be kept of this session. */
  const offBecause = ({ cwd, interactive }: SaidSession): string | undefined => {
    const { enabled, nonInteractive } = settings()
    if (!enabled) return 'extraction is off'
    if (cwd === null) return 'nobody knows where the session runs'
    if (interactive === 0 && !nonInteractive) return 'nobody sits at the session'
    const { off } = placeOf(cwd)
    return off === undefined ? undefined : `memory is off there: ${off}`
  }

  /** What a part leaves behind with what is saved of it: how far it goes, and the news of it. */
  const alongOf = (key: SessionKey, reached: Reached) => {
    const before = progress.find(keyOf(key))
    return (files: string[]): Along => {
      let untell = () => {}
      return {
        before: () => {
          progress.put(keyOf(key), reached)
          const told = files.filter((file) => !/(?:^|\/)MEMORY\.md$/.test(file))
          if (told.length > 0) untell = notify(key, told)
        },
        takeBack: () => {
          if (before) progress.put(keyOf(key), before)
          else progress.forget(keyOf(key))
          untell()
        },
      }
    }
  }

  const run = async ({ input, attempts }: Job, { signal, stillOurs }: At): Promise<Outcome> => {
    const { final, ...key } = input as SessionKey & { final?: true }
    // 1. What is new, as far as turns have ended.
    const { session, part } = look(key)
    if (!session || part.length === 0) return skipped('there is nothing new in it')
    // A session that is over gets no more turns to wait for.
    if (!final && turnsIn(part) < settings().everyTurns) return skipped('there are too few turns yet')

    // 2. Whether anything of it may be kept.
    const off = offBecause(session)
    if (off !== undefined || session.cwd === null) {
      if (!stillOurs()) return LOST
      progress.put(keyOf(key), reachedBy(part))
      return skipped(off ?? '')
    }

    // 3. Part by part: what was kept of one stays kept when the next cannot be.
    const { cwd, row } = session
    const { dir } = placeOf(cwd)
    const mayWrite = () => stillOurs() && offBecause(session) === undefined
    const workOn = (slice: readonly SaidMessage[]): Slice => {
      const wroteItself = () => {
        // Of a turn that had to be parted all of it counts.
        const here = new Set(slice)
        const turns = turnsOf(part).filter((turn) => turn.some((message) => here.has(message)))
        return reading.someCall(turns.flat(), (call) => writesInto(dir, call, { cwd, home }))
      }
      return { key, row, cwd, part: slice, signal, wroteItself, along: alongOf(key, reachedBy(slice)), mayWrite }
    }
    const ends: Kept[] = []
    const slices: (readonly SaidMessage[])[] = isOnline() ? slicesOf(part) : [part]
    for (let slice = slices.shift(); slice; slice = slices.shift()) {
      // One turn may have hundreds of these, and nothing in most of them.
      await turn()
      if (!mayWrite()) return LOST
      const work = workOn(slice)
      const tried = await (isOnline() ? byModel(work) : byRules(work))
      const isForNothing = 'notDone' in tried && isGivenUp(tried.notDone, attempts)
      const turns = isForNothing ? turnsOf(slice) : []
      if (turns.length > 1) {
        slices.unshift(...turns)
        continue
      }
      // One turn that no model takes must not keep the others waiting.
      const kept = isForNothing ? byHand(await byRules(work)) : tried
      if ('notDone' in kept) return kept.notDone
      if ('skip' in kept) {
        if (!mayWrite()) return LOST
        progress.put(keyOf(key), reachedBy(slice))
      }
      ends.push(kept)
    }
    return outcomeOf(ends)
  }

  return {
    name: KIND,
    model: 'if-online' as const,
    low: true as const,
    dirOf: ({ input }: Job) => {
      const { harness, sessionId } = input as SessionKey
      const cwd = said.session(harness, sessionId)?.cwd
      return cwd ? placeOf(cwd).dir : undefined
    },
    covered: ({ input }: Job) => !look(input as SessionKey).part.some(({ by }) => by === 'person'),
    run: (job: Job, at: At): Promise<Outcome> =>
      run(job, at).catch((error) => {
        if (blamesDisk(error)) return { wait: message(error) }
        // The memories may be on another disk than what the daemon keeps: nobody tells when there is room again.
        if (isDiskTrouble((error as { cause?: unknown }).cause))
          return { wait: message(error), untilMs: clock.now() + DISK_MS }
        throw error
      }),
  }
}

/** Whether the model will do nothing with it, however often it is asked. */
function isGivenUp(notDone: NotDone, attempts: number): boolean {
  return notDone.of === 'part' && ('refuse' in notDone || attempts >= LAST_ATTEMPT)
}

function skipped(why: string): Outcome {
  return { done: { skipped: why } }
}

/** Names of files are made of a person's words: how many is enough. */
function outcomeOf(ends: readonly Kept[]): Outcome {
  const kept = ends.filter((end) => 'counts' in end)
  const last = kept.at(-1)
  const byRules = ends.filter((end) => 'by' in end).length
  if (!last) {
    const why = ends.flatMap((end) => ('skip' in end ? [end.skip] : [])).at(-1) ?? ''
    return byRules > 0 ? { done: { skipped: why, byRules } } : skipped(why)
  }
  const sum = (of: keyof Counts) => kept.reduce((total, { counts }) => total + counts[of], 0)
  const counts = { saved: sum('saved'), waiting: sum('waiting'), known: sum('known'), refused: sum('refused') }
  const truncated = kept.some((end) => end.truncated)
  return {
    done: { ...counts, ...(byRules > 0 && { byRules }) },
    runId: last.runId,
    ...(truncated && { truncated: true as const }),
  }
}

function turnsIn(part: readonly SaidMessage[]): number {
  return part.filter(({ startsTurn, by }) => startsTurn === 1 && by === 'person').length
}

/** Lines without a time of their own are as late as the latest before them. */
function reachedBy(part: readonly SaidMessage[]): Reached {
  const at = part.reduce((latest, message) => Math.max(latest, message.at ?? 0), 0)
  return { message: part.at(-1)?.uid ?? '', at }
}

/** What is kept of what was said, put together: the memories, the rules, the model, and what the session is told of it. */

type LearningDeps = {
  store: Databases
  said: Said
  settings: LiveSettings
  clock: Clock
  memory: Memory
  model: Model
  agent: Agent
  /** The notes of a session as they are now. */
  notesOf: (session: SessionKey) => string
  home: string
  redact: (text: string) => Promise<{ text: string }>
  blamesDisk: (error: unknown) => boolean
}

/** Of one run. Dollars are minded by the day's cap: what a run costs is bounded by these. */
const LIMITS = { outputTokens: 24_000, wallMs: 240_000 }
const ANSWER_TOKENS = 8_000

export function createLearning(deps: LearningDeps) {
  const { store, said, settings, clock, memory, model, agent, notesOf, home, redact, blamesDisk } = deps
  const telling = createTelling({ notices: createNotices(store.history), clock })
  const reading = createReading({ said, messagesAt, redact })
  const isLogging = () => settings.current().dailyLog.enabled
  const placeOf = (cwd: string) => memory.find(cwd, { actor: 'agent:extract', env: {} })
  const byModel = createByModel({
    memoriesAt: (cwd) => {
      const { dir, root } = placeOf(cwd)
      const run = memory.changing.begin({ kind: 'extract', cwd, env: {} })
      const team = settings.current().team.enabled ? 'on' : 'off'
      return { ...run, dir, root, team, logFile, memoryOf, markUntrusted, evidenceIn }
    },
    tell: ({ key, row, part, signal }) =>
      agent.sessionPrefix({
        key,
        notes: () => notesOf(key),
        row,
        upTo: part.at(-1)?.id ?? 0,
        lastAt: part.at(-1)?.at ?? 0,
        model: settings.current().model.extract,
        signal,
      }),
    fork: async ({ prefix, memories, slice, directive, shown, turns, check, cite, onShown, apply }) => {
      const transcripts = [...new Set(slice.part.map(({ path }) => path))]
      const report = await agent.run({
        job: 'extraction',
        project: memories.root,
        prefix: prefix as Prefix,
        directive,
        policy: { may: 'memory' },
        reach: agent.reachOf(memories.dir, [memories.root, ...transcripts]),
        limits: { turns, ...LIMITS },
        maxTokens: ANSWER_TOKENS,
        atTurnLimit: 'apply',
        until: 'changed',
        shown,
        check,
        cite,
        onShown,
        apply,
        stillOurs: slice.mayWrite,
        signal: slice.signal,
      })
      const notDone = whyNotDone(report)
      return notDone ? { notDone } : { truncated: report.ended === 'truncated' }
    },
    byRules: (slice) => byRules(slice),
    isLogging,
    clock,
  })
  const byRules = createByRules({
    reading,
    save: (run) => memory.saving.save({ kind: 'extract', env: {}, ...run }),
    isLogging,
    clock,
  })
  const kind = createExtraction({
    said,
    progress: createProgress(store.history),
    reading,
    placeOf,
    byRules,
    byModel,
    isOnline: () => model.mode() === 'online',
    notify: telling.saved,
    settings: () => settings.current().extraction,
    home,
    blamesDisk,
    clock,
  })
  return { kind, telling }
}

/** What both ways of keeping something of a session are given and give back, by rules and by a model. */

/** What is in the store with what is saved, and never without it. */
export type Along = { before(): void; takeBack(): void }

export type Slice = {
  key: SessionKey
  row: number
  cwd: string
  /** What is new, in order. */
  part: readonly SaidMessage[]
  signal: AbortSignal
  /** Whether the agent of the session wrote memories in it. */
  wroteItself: () => Promise<boolean>
  along: (files: string[]) => Along
  /** Whether the run is still the one that counts, and nothing was switched off since. */
  mayWrite: () => boolean
}

/** How many were saved, wait for review, were known already, and were refused. */
export type Counts = { saved: number; waiting: number; known: number; refused: number }

/** `of: 'part'`: the model could do nothing with this part; another one may go well. */
export type NotDone = (
  | { retry: string; afterMs?: number | undefined }
  | { wait: string; untilMs?: number | undefined }
  | { refuse: string }
) & { of?: 'part' | undefined }

/** `skip`: nothing was saved, and it has been looked at for good. `by`: where a model was to do it and could not. */
export type Kept =
  | (({ runId: string; counts: Counts; truncated?: true } | { skip: string }) & { by?: 'rules' })
  | { notDone: NotDone }
