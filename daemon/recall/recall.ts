/**
 * The memories for a question, as agents get them: chosen, handed over, recorded. A model that answers too late is not lost: what it
 * selected comes with the session's next question. Hooks never wait for one.
 */
import type { Caller } from '../../schema/caller.ts'
import type { GivenList, RecallAnswer, RecallRequest } from '../../schema/recall.ts'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/in-turn.ts'
import { withJson } from '../platform/ready-json.ts'
import { safeId } from '../platform/safe-id.ts'
import type { Vigils } from '../platform/vigil.ts'
import type { RecalledRows } from '../store/recalled.ts'
import { type Choice, type ChooseDeps, type Chosen, choose, within } from './choose.ts'
import { createCorpora, type Source } from './corpus.ts'
import { hasEnoughWords } from './enough-words.ts'
import { createGiven, type SessionName } from './given.ts'
import { createHandOver, type HandOverDeps } from './hand-over.ts'
import { printedAnswer } from './print.ts'
import { ENOUGH } from './rank.ts'
import { createTickets, type Tickets } from './tickets.ts'

export type Recall = {
  recall(request: RecallRequest, at: { caller: Caller; signal: AbortSignal }): Promise<RecallAnswer>
  /** For a prompt hook: the local answer at once; a model selects beside it, for the session's next prompt. */
  hook(request: RecallRequest, caller: Caller, mostBytes?: number): Promise<RecallAnswer>
  /** The last memories that the session was given, once more: it was compacted and has none of them any more. */
  again(session: SessionName & { cwd: string }, caller: Caller, mostBytes: number): Promise<RecallAnswer>
  tickets: Tickets
  /** The session was cleared or compacted. */
  reset(session: SessionName): void
  given(sessionId: string, harness: string | undefined): GivenList
  /** Takes out what is known of a memory that is purged. */
  forget(memory: { dir: string; file: string }): void
  /** Something happened to memories. */
  changed(dir: string, files: readonly string[]): void
  stop(): void
}

type Deps = Omit<ChooseDeps, 'corpora' | 'given'> & {
  texts: Source & Omit<HandOverDeps, 'redact' | 'driftOf'>
  driftOf: HandOverDeps['driftOf']
  rows: RecalledRows
  vigils: Vigils
  redact: HandOverDeps['redact']
  clock: Pick<Clock, 'after' | 'now' | 'elapsed'>
  onError: (error: unknown) => void
}

/** Selections that came too late, one for a session. */
const MOST_LATE = 1_000
/** How long a model may take for an answer nobody waits for. */
const LATEST_MS = 60_000

type Late = { dir: string; files: string[] }

export function createRecall({ texts, rows, vigils, redact, driftOf, onError, ...rest }: Deps): Recall {
  const { clock, settings } = rest
  const corpora = createCorpora({ source: texts, vigils, clock, onError })
  const given = createGiven({ rows, clock, onError })
  const handOver = createHandOver({ ...texts, redact, driftOf })
  const deps: ChooseDeps = { ...rest, corpora, given }
  const inTurn = createInTurn()
  const late = new Map<string, Late>()
  const running = new Map<string, AbortController>()

  const keepLate = (request: RecallRequest, dir: string, work: Promise<string[]>) => {
    const key = sessionOf(request)
    if (key === undefined) return
    work.then((files) => {
      if (files.length === 0) return
      late.delete(key)
      late.set(key, { dir, files })
      if (late.size > MOST_LATE) late.delete(late.keys().next().value as string)
    }, onError)
  }

  /** What was selected for the last question, if it is still to be had, comes before what fits this one. */
  const withLate = (request: RecallRequest, choice: Choice): Choice => {
    const key = sessionOf(request)
    const kept = key === undefined ? undefined : late.get(key)
    if (key === undefined || kept?.dir !== choice.dir) return choice
    late.delete(key)
    const files = kept.files.filter((file) => choice.corpus.items.has(file))
    return { ...choice, files: [...new Set([...files, ...choice.files])] }
  }

  /** One after the other for a session: two at once would not know of each other's bytes. */
  const give = (request: RecallRequest, chosen: Chosen, mostBytes?: number): Promise<RecallAnswer> => {
    const key = sessionOf(request)
    return key === undefined
      ? giveNow(request, chosen, mostBytes)
      : inTurn(key, () => giveNow(request, chosen, mostBytes))
  }

  const giveNow = async (
    request: RecallRequest,
    chosen: Chosen,
    mostBytes = Number.POSITIVE_INFINITY,
  ): Promise<RecallAnswer> => {
    const session =
      request.sessionId === undefined ? undefined : { sessionId: request.sessionId, harness: request.harness }
    const before = session ? given.bytes(session) : 0
    if ('skipped' in chosen) return { ...NOTHING, skipped: chosen.skipped, sessionBytes: before }
    const choice = withLate(request, chosen)
    const explain = request.explain ? { explain: explained(choice) } : {}
    const { ranked } = choice.ranking
    const scoreOf = (file: string) => ranked.find((each) => each.file === file)?.score ?? 0
    const room = { bytes: Math.min(settings().sessionBytes - before, mostBytes), nowMs: clock.now() }
    // It may have been given while this was being chosen.
    const wasGiven = session && given.knower(session, choice.dir)
    const files = wasGiven ? choice.files.filter((file) => !wasGiven(file)) : choice.files
    const { memories, text, bytes, handed, json, crowded } = await handOver.pack({ ...choice, files, scoreOf }, room)
    if (memories.length === 0)
      return { ...NOTHING, mode: choice.mode, skipped: crowded ? 'budget' : 'none', sessionBytes: before, ...explain }
    if (session) given.add(session, choice.dir, choice.mode, handed)
    const answer = { mode: choice.mode, memories, text, bytes, sessionBytes: before + bytes, ...explain }
    return request.explain ? answer : withJson(answer, () => printedAnswer(answer, json))
  }

  /** Goes on after the caller got its answer; a newer question of the session ends it. */
  const background = (request: RecallRequest): AbortSignal => {
    const key = sessionOf(request)
    const controller = new AbortController()
    const tooLate = clock.after(LATEST_MS, () => controller.abort())
    controller.signal.addEventListener('abort', () => tooLate.stop(), { once: true })
    if (key !== undefined) {
      running.get(key)?.abort()
      running.delete(key)
      running.set(key, controller)
      if (running.size > MOST_LATE) running.delete(running.keys().next().value as string)
    }
    return controller.signal
  }

  const chooseAnd = async (request: RecallRequest, caller: Caller, signal: AbortSignal): Promise<Chosen> => {
    const chosen = await choose(deps, request, { caller, signal })
    if ('late' in chosen && chosen.late) keepLate(request, chosen.dir, chosen.late)
    return chosen
  }

  const tickets = createTickets({
    begin: (request, caller, signal) => chooseAnd(request, caller, signal),
    finish: give,
    clock,
  })

  return {
    recall: async (request, at) => {
      const { caller } = at
      if (request.mode === 'local' || (request.mode === 'auto' && !deps.model.isReady()))
        return give(request, await choose(deps, { ...request, mode: 'local' }, { caller, signal: NEVER }))
      // Who hangs up waits for nothing any more; a deadline that passes leaves the model to its work.
      const signal = AbortSignal.any([at.signal, background(request)])
      return give(request, await chooseAnd(request, caller, signal))
    },
    hook: async (request, caller, mostBytes) => {
      if (!hasEnoughWords(request.query)) return give(request, { skipped: 'short' })
      const choosing = choose(deps, { ...request, mode: 'local' }, { caller, signal: NEVER })
      const chosen = await within(choosing, settings().hookDeadlineMs, clock)
      const answer = await give(request, chosen === 'late' ? { skipped: 'none' } : chosen, mostBytes)
      if (request.mode !== 'local' && deps.model.isReady() && answer.skipped !== 'off') {
        const selecting = { ...request, mode: 'model' as const, deadlineMs: LATEST_MS }
        choose(deps, selecting, { caller, signal: background(request) }).then((found) => {
          if ('files' in found && found.mode === 'model') keepLate(request, found.dir, Promise.resolve(found.files))
        }, onError)
      }
      return answer
    },
    again: async ({ sessionId, harness, cwd }, caller, mostBytes) => {
      const request: RecallRequest = { cwd, query: '', sessionId, harness, mode: 'local' }
      const { dir, off } = await deps.find(cwd, caller)
      const { enabled, teamEnabled, k } = settings()
      if (off !== undefined || !enabled) return give(request, { skipped: 'off' })
      const corpus = corpora.open(dir, '')
      const last = given.list(sessionId, harness).items.filter(({ file, path }) => path === `${dir}/${file}`)
      const files = [...new Set(last.toReversed().map(({ file }) => file))].filter(
        (file) => corpus.items.has(file) && (teamEnabled || !file.startsWith('team/')),
      )
      const ranking = { ranked: [], fit: 0, explain: () => [] }
      const choice = { dir, corpus, mode: 'local' as const, k, files, ranking, model: undefined, late: undefined }
      return give(request, choice, mostBytes)
    },
    tickets,
    reset: (session) => {
      const key = `${safeId(session.harness)}\n${safeId(session.sessionId)}`
      running.get(key)?.abort()
      late.delete(key)
      given.reset(session)
    },
    given: given.list,
    forget: given.forget,
    changed: corpora.changed,
    stop: () => {
      for (const controller of running.values()) controller.abort()
      tickets.stop()
      corpora.stop()
      given.stop()
    },
  }
}

const NEVER = new AbortController().signal
const NOTHING = { mode: 'local' as const, memories: [], text: '', bytes: 0 }

function sessionOf({ sessionId, harness }: RecallRequest): string | undefined {
  return sessionId === undefined ? undefined : `${safeId(harness)}\n${safeId(sessionId)}`
}

function explained({ ranking, model }: Choice): NonNullable<RecallAnswer['explain']> {
  return {
    fit: ranking.fit,
    enough: ENOUGH,
    ranked: ranking.explain().slice(0, 10),
    ...(model !== undefined && { model }),
  }
}
