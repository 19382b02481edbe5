/**
 * The memories for a question, as agents get them: chosen, handed over, recorded. A model that answers too late is not lost: what it
 * selected comes with the session's next question. Hooks never wait for one.
 */
import type { Caller } from '../../schema/caller.ts'
import type { GivenList, RecallAnswer, RecallRequest } from '../../schema/recall.ts'
import type { Clock } from '../platform/clock.ts'
import { withUndo } from '../platform/if-lost.ts'
import { withJson } from '../platform/json.ts'
import { createInTurn } from '../platform/queue.ts'
import { safeId } from '../platform/text.ts'
import type { Vigils } from '../platform/vigil.ts'
import { createCorpora, type Source } from './corpus.ts'
import { createGiven, type RecalledRows, type SessionName } from './given.ts'
import { ENOUGH } from './rank.ts'
import { type Choice, type ChooseDeps, type Chosen, choose, TEAM, within } from './select.ts'
import { createHandOver, type HandOverDeps, printedAnswer } from './surface.ts'
import { createTickets, type Tickets } from './tickets.ts'

export type Recall = {
  recall(request: RecallRequest, at: { caller: Caller; signal: AbortSignal }): Promise<RecallAnswer>
  /** For a prompt hook: the local answer at once; a model selects beside it, for the session's next prompt. */
  hook(request: RecallRequest, caller: Caller, mostBytes?: number): Promise<RecallAnswer>
  /** The last memories that the session was given, once more: it was compacted and has none of them any more. */
  again(session: SessionName & { cwd: string }, caller: Caller, mostBytes: number): Promise<RecallAnswer>
  /** A session begins in a folder: its memories are read, so that its first question need not wait for that. */
  readAhead(cwd: string, caller: Caller): void
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

/** Of the time a hook has, what it may wait for memories that have not been read yet. */
const HOOK_READ_SHARE = 0.5

export function createRecall({ texts, rows, vigils, redact, driftOf, onError, ...rest }: Deps): Recall {
  const { clock, settings } = rest
  const corpora = createCorpora({ source: texts, vigils, clock, onError })
  const given = createGiven({ rows, clock, onError })
  const handOver = createHandOver({ ...texts, redact, driftOf })
  const deps: ChooseDeps = { ...rest, corpora, given }
  const inTurn = createInTurn()
  const late = createLate({ clock, onError })

  /** What was selected for the last question, if it is still to be had, comes before what fits this one. */
  const withLate = (request: RecallRequest, choice: Choice): Choice => {
    const files = late.take(sessionOf(request), choice.dir)
    if (files.length === 0) return choice
    const wanted = files.filter((file) => choice.corpus.items.has(file) && !choice.skip(file))
    return { ...choice, files: [...new Set([...wanted, ...choice.files])] }
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
    const more: Pick<RecallAnswer, 'partial' | 'explain'> | undefined =
      choice.corpus.partial || request.explain
        ? { ...(choice.corpus.partial && { partial: true }), ...(request.explain && { explain: explained(choice) }) }
        : undefined
    const { ranking } = choice
    const scoreOf = (file: string, n: number) =>
      ranking.scores[ranking.files[n] === file ? n : ranking.files.indexOf(file)] ?? 0
    const room = { bytes: Math.min(settings().sessionBytes - before, mostBytes), nowMs: clock.now() }
    // It may have been given while this was being chosen.
    const wasGiven = session && given.knower(session, choice.dir)
    const files = wasGiven ? choice.files.filter((file) => !wasGiven(file)) : choice.files
    const { dir, corpus, k } = choice
    const packed = await handOver.pack({ dir, corpus, k, files, scoreOf }, room)
    const { memories, text, bytes, handed, json, crowded } = packed
    if (memories.length === 0)
      return { ...NOTHING, mode: choice.mode, skipped: crowded ? 'budget' : 'none', sessionBytes: before, ...more }
    const plain: RecallAnswer = { mode: choice.mode, memories, text, bytes, sessionBytes: before + bytes }
    const answer = more ? { ...plain, ...more } : plain
    if (session) withUndo(answer, given.add(session, choice.dir, choice.mode, handed))
    return request.explain ? answer : withJson(answer, () => printedAnswer(answer, json))
  }

  /** Some time after it was chosen: memory may have been switched off there since. */
  const giveLater = async (request: RecallRequest, chosen: Chosen, caller: Caller): Promise<RecallAnswer> => {
    if ('skipped' in chosen) return give(request, chosen)
    const { dir, off } = await deps.find(request.cwd, caller)
    if (off !== undefined || !settings().enabled) return give(request, { skipped: 'off' })
    if (dir !== chosen.dir) return give(request, { skipped: 'none' })
    const files = settings().teamEnabled ? chosen.files : chosen.files.filter((file) => !file.startsWith(TEAM))
    return give(request, { ...chosen, files })
  }

  /** Who hangs up waits for nothing any more; a deadline that passes leaves the model to its work. */
  const select = async (request: RecallRequest, caller: Caller, hungUp: AbortSignal): Promise<Chosen> => {
    const work = late.begin(sessionOf(request))
    try {
      const chosen = await choose(deps, request, { caller, signal: AbortSignal.any([hungUp, work.signal]) })
      if (!('late' in chosen) || !chosen.late) work.done()
      else work.goesOn(chosen.late.then((files) => ({ dir: chosen.dir, files })))
      return chosen
    } catch (error) {
      work.done()
      throw error
    }
  }

  /** For the session's next prompt. */
  const selectBeside = (request: RecallRequest, caller: Caller): void => {
    const work = late.begin(sessionOf(request))
    const selecting = { ...request, mode: 'model' as const, deadlineMs: LATEST_MS }
    const choosing = choose(deps, selecting, { caller, signal: work.signal })
    work.goesOn(
      choosing.then((found) =>
        'files' in found && found.mode === 'model' ? { dir: found.dir, files: found.files } : NONE,
      ),
    )
  }

  const tickets = createTickets({ begin: select, finish: giveLater, sessionOf, clock })

  return {
    recall: async (request, at) => {
      const { caller } = at
      if (request.mode === 'local' || (request.mode === 'auto' && !deps.model.isReady()))
        return await give(request, await choose(deps, inLocalMode(request), { caller, signal: NEVER }))
      return giveLater(request, await select(request, caller, at.signal), caller)
    },
    hook: async (request, caller, mostBytes) => {
      if (!hasEnoughWords(request.query)) return give(request, { skipped: 'short' })
      const { hookDeadlineMs } = settings()
      const readMs = hookDeadlineMs * HOOK_READ_SHARE
      const choosing = choose(deps, inLocalMode(request), { caller, signal: NEVER, readMs })
      const chosen = await within(choosing, hookDeadlineMs, clock)
      const answer = await give(request, chosen === 'late' ? { skipped: 'none' } : chosen, mostBytes)
      if (request.mode !== 'local' && deps.model.isReady() && answer.skipped !== 'off') selectBeside(request, caller)
      return answer
    },
    again: async ({ sessionId, harness, cwd }, caller, mostBytes) => {
      const request: RecallRequest = { cwd, query: '', sessionId, harness, mode: 'local' }
      const { dir, off } = await deps.find(cwd, caller)
      const { enabled, teamEnabled, k } = settings()
      if (off !== undefined || !enabled) return give(request, { skipped: 'off' })
      const corpus = await corpora.open(dir, { question: '', waitMs: 0 })
      const last = given.list(sessionId, harness).items.filter(({ file, path }) => path === `${dir}/${file}`)
      const skip = (file: string) => !teamEnabled && file.startsWith(TEAM)
      // What is gone shows when it is read.
      const files = [...new Set(last.toReversed().map(({ file }) => file))].filter((file) => !skip(file))
      const ranking = { files: [], scores: [], fit: 0, explained: undefined }
      const choice = { dir, corpus, mode: 'local' as const, k, files, skip, ranking, model: undefined, late: undefined }
      return give(request, choice, mostBytes)
    },
    readAhead: (cwd, caller) => {
      const reading = deps.find(cwd, caller).then(({ dir, off }) => {
        if (off === undefined && settings().enabled) return corpora.open(dir, { question: '', waitMs: 0 })
      })
      reading.catch(onError)
    },
    tickets,
    reset: (session) => {
      late.forget(keyOf(session))
      given.reset(session)
    },
    given: given.list,
    forget: given.forget,
    changed: corpora.changed,
    stop: () => {
      late.stop()
      tickets.stop()
      corpora.stop()
      given.stop()
    },
  }
}

const NEVER = new AbortController().signal
const NONE = { dir: '', files: [] }
const NOTHING = { mode: 'local' as const, memories: [], text: '', bytes: 0 }

function inLocalMode(request: RecallRequest): RecallRequest {
  return request.mode === 'local' ? request : { ...request, mode: 'local' }
}

function sessionOf({ sessionId, harness }: RecallRequest): string | undefined {
  return sessionId === undefined ? undefined : keyOf({ sessionId, harness })
}

function keyOf({ sessionId, harness }: SessionName): string {
  return `${safeId(harness)}\n${safeId(sessionId)}`
}

function explained({ ranking, model }: Choice): NonNullable<RecallAnswer['explain']> {
  return {
    fit: ranking.fit,
    enough: ENOUGH,
    ranked: ranking.explained?.slice(0, 10) ?? [],
    ...(model !== undefined && { model }),
  }
}

/**
 * Selections of models that go on after their callers were answered: at most one for a session, ended by its next question, kept
 * for that one when they came in time. What somebody still waits for is never ended by another question.
 */

export type Selection = { dir: string; files: string[] }

export type Work = {
  signal: AbortSignal
  /** Its caller has been answered, and it goes on: what it selects comes with the session's next question. */
  goesOn(selecting: Promise<Selection>): void
  /** Its caller has been answered with what it brought. */
  done(): void
}

export type Late = {
  /** For a question; what goes on for an earlier one of its session ends. */
  begin(session: string | undefined): Work
  /** What was selected for the session's last question, once. */
  take(session: string | undefined, dir: string): string[]
  /** The session was cleared or compacted. */
  forget(session: string): void
  stop(): void
}

const MOST_SESSIONS = 1_000
/** How long a model may take for an answer nobody waits for. */
export const LATEST_MS = 60_000

type LateDeps = { clock: Pick<Clock, 'after'>; onError: (error: unknown) => void }

export function createLate({ clock, onError }: LateDeps): Late {
  const selected = new Map<string, Selection>()
  /** Nobody waits for these. */
  const going = new Map<string, AbortController>()
  const all = new Set<AbortController>()
  /** Counts how often a session was forgotten: what began before that is of no use after it. */
  const forgotten = new Map<string, number>()

  const end = (session: string): void => {
    going.get(session)?.abort()
    going.delete(session)
  }

  return {
    begin: (session) => {
      if (session !== undefined) end(session)
      const controller = new AbortController()
      const tooLate = clock.after(LATEST_MS, () => controller.abort())
      const wasForgotten = session === undefined ? 0 : forgotten.get(session)
      all.add(controller)
      const done = () => {
        tooLate.stop()
        all.delete(controller)
        if (session !== undefined && going.get(session) === controller) going.delete(session)
      }
      return {
        signal: controller.signal,
        goesOn: (selecting) => {
          const isOver = () => session === undefined || forgotten.get(session) !== wasForgotten
          if (session === undefined || isOver()) controller.abort()
          else {
            end(session)
            keep(going, session, controller)
          }
          selecting
            .then((selection) => {
              if (session !== undefined && selection.files.length > 0 && !isOver()) keep(selected, session, selection)
            })
            .catch(onError)
            .finally(done)
        },
        done,
      }
    },
    take: (session, dir) => {
      const kept = session === undefined ? undefined : selected.get(session)
      if (session === undefined || kept?.dir !== dir) return LATE_NONE
      selected.delete(session)
      return kept.files
    },
    forget: (session) => {
      end(session)
      selected.delete(session)
      keep(forgotten, session, (forgotten.get(session) ?? 0) + 1)
    },
    stop: () => {
      for (const controller of all) controller.abort()
    },
  }
}

const LATE_NONE: string[] = []

/** The map is in order of use. */
function keep<T>(map: Map<string, T>, session: string, value: T): void {
  map.delete(session)
  map.set(session, value)
  if (map.size > MOST_SESSIONS) map.delete(map.keys().next().value as string)
}

/** Whether a prompt says enough to look for anything: more than one word, as people of its language count them. Pure. */

const segmenter = () => new Intl.Segmenter(undefined, { granularity: 'word' })
/** Two words are found in the beginning of anything. */
const LOOKED_AT_CHARS = 1_000

export function hasEnoughWords(query: string): boolean {
  let words = 0
  for (const { isWordLike } of segmenter().segment(query.slice(0, LOOKED_AT_CHARS)))
    if (isWordLike && ++words > 1) return true
  return false
}
