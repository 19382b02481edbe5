/**
 * Recall: the memories for a question are chosen (select), surfaced as text (surface) and recorded as shown (given). Hooks never
 * wait for a model: what it selects comes with the session's next question.
 */
import type { Caller } from '../../schema/caller.ts'
import type { Collected, RecallAnswer, RecallRequest } from '../../schema/recall.ts'
import { AFTER_START_MS, type Core } from '../core.ts'
import type { Memory } from '../memory/memory.ts'
import type { Models } from '../models/models.ts'
import type { Timer } from '../platform/clock.ts'
import { createInTurn } from '../platform/queue.ts'
import type { Projects } from '../projects/projects.ts'
import { createCorpora, within } from './corpus.ts'
import {
  createLateSelections,
  createShownMemories,
  createTickets,
  idOf,
  LATEST_MS,
  type SessionName,
  withUndo,
} from './given.ts'
import { ENOUGH } from './rank.ts'
import { type Choice, type Chosen, createChooser } from './select.ts'
import { createSurface } from './surface.ts'

type InSession = SessionName & { cwd: string; mostBytes: number }

const HOOK_READ_SHARE = 0.5
const LONGEST_PROMPT = 100_000
const QUERY_CHARS = 32_000
const DIRS_AHEAD = 3
const DAEMON: Caller = { actor: 'daemon', env: {} }
const NEVER = new AbortController().signal
const NOTHING = { mode: 'local' as const, memories: [], text: '', bytes: 0 }

export function createRecall(core: Core, projects: Projects, memory: Memory, models: Models) {
  const { clock, settings, logged } = core
  const corpora = createCorpora(core, memory)
  const shown = createShownMemories(core)
  const surface = createSurface(projects, memory)
  const { choose, recheck, isTeams } = createChooser(core, projects, models, corpora, shown)
  const late = createLateSelections(core)
  const tickets = createTickets<{ request: RecallRequest; caller: Caller; chosen: Chosen }>(core)
  const inTurn = createInTurn()
  let starting: Timer | undefined

  /** What a model selected for the last question comes before what fits this one. */
  const withLate = (request: RecallRequest, choice: Choice): Choice => {
    const files = late.take(sessionOf(request), choice.dir)
    const wanted = files.filter((file) => choice.corpus.items.has(file) && !choice.isExcluded(file))
    return { ...choice, files: [...new Set([...wanted, ...choice.files])] }
  }

  const surfaceNow = async (request: RecallRequest, chosen: Chosen, mostBytes: number): Promise<RecallAnswer> => {
    const { sessionId, harness } = request
    const session = sessionId === undefined ? undefined : { sessionId, harness }
    const before = session ? shown.bytes(session) : 0
    if ('skipped' in chosen) return { ...NOTHING, skipped: chosen.skipped, sessionBytes: before }
    const choice = withLate(request, chosen)
    const { dir, corpus, k, mode, ranking } = choice
    const more = {
      ...(corpus.partial && { partial: true as const }),
      ...(request.explain && { explain: explained(choice) }),
    }
    const files = session ? choice.files.filter((file) => !shown.has(session, dir, file)) : choice.files
    const scoreOf = (file: string) => ranking.scores[ranking.files.indexOf(file)] ?? 0
    const capBytes = Math.min(settings.current().recall.sessionBytes - before, mostBytes)
    const items = corpus.partial ? new Map() : corpus.items
    const surfaced = await surface({ dir, items, files, k, scoreOf }, capBytes, clock.now())
    const { memories, text, bytes } = surfaced
    if (memories.length === 0)
      return { ...NOTHING, mode, skipped: surfaced.isCrowded ? 'budget' : 'none', sessionBytes: before, ...more }
    const answer: RecallAnswer = { mode, memories, text, bytes, sessionBytes: before + bytes, ...more }
    return session ? withUndo(answer, shown.add(session, dir, mode, surfaced.shown)) : answer
  }

  /** In turn for a session: two at once would not know of each other's bytes. */
  const surfaceInTurn = (request: RecallRequest, chosen: Chosen, mostBytes = Number.POSITIVE_INFINITY) => {
    const session = sessionOf(request)
    const work = () => surfaceNow(request, chosen, mostBytes)
    return session === undefined ? work() : inTurn(session, work)
  }

  /** Ends when the caller hangs up, not when its deadline passes: then the model goes on for the next question. */
  const select = async (request: RecallRequest, caller: Caller, hungUp: AbortSignal): Promise<Chosen> => {
    const work = late.begin(sessionOf(request))
    try {
      const chosen = await choose(request, { caller, signal: AbortSignal.any([hungUp, work.signal]) })
      if ('late' in chosen && chosen.late) work.goOn(chosen.late.then((files) => ({ dir: chosen.dir, files })))
      else work.done()
      return chosen
    } catch (error) {
      work.done()
      throw error
    }
  }

  const selectForNext = (request: RecallRequest, caller: Caller): void => {
    const work = late.begin(sessionOf(request))
    const choosing = choose({ ...request, mode: 'model', deadlineMs: LATEST_MS }, { caller, signal: work.signal })
    work.goOn(
      choosing.then((found) =>
        'files' in found && found.mode === 'model' ? { dir: found.dir, files: found.files } : { dir: '', files: [] },
      ),
    )
  }

  const open = (dir: string) => corpora.open(dir, { question: '', waitMs: 0 })
  const readLastUsed = async (): Promise<void> => {
    for (const dir of shown.lastDirs(DIRS_AHEAD)) {
      const project = projects.list().find(({ memoryDir }) => memoryDir === dir)
      if (project && projects.find(project.root, DAEMON).off === undefined) await open(dir)
    }
  }

  const isLocal = ({ mode }: RecallRequest) => mode === 'local' || (mode === 'auto' && models.waits() !== undefined)

  return {
    recall: async (request: RecallRequest, { caller, signal }: { caller: Caller; signal: AbortSignal }) => {
      if (isLocal(request))
        return surfaceInTurn(request, await choose({ ...request, mode: 'local' }, { caller, signal: NEVER }))
      return surfaceInTurn(request, await recheck(request, await select(request, caller, signal), caller))
    },
    /** For a prompt hook: the local answer at once; a model selects beside it, for the session's next prompt. */
    hook: async ({ mostBytes, query: prompt, ...session }: InSession & { query: string }, caller: Caller) => {
      const query = prompt.slice(0, LONGEST_PROMPT)
      const request: RecallRequest = { ...session, query, mode: 'local' }
      if (!hasEnoughWords(query)) return surfaceInTurn(request, { skipped: 'short' })
      const { hookDeadlineMs } = settings.current().recall
      const choosing = choose(request, { caller, signal: NEVER, readMs: hookDeadlineMs * HOOK_READ_SHARE })
      const chosen = await within(choosing, hookDeadlineMs, clock)
      const answer = await surfaceInTurn(request, chosen === 'late' ? { skipped: 'none' } : chosen, mostBytes)
      if (models.waits() === undefined && answer.skipped !== 'off') selectForNext(request, caller)
      return answer
    },
    /** The last memories that the session was shown, once more, after it was compacted. */
    again: async ({ mostBytes, ...session }: InSession, caller: Caller): Promise<RecallAnswer> => {
      const request: RecallRequest = { ...session, query: '', mode: 'local' }
      const { dir, off } = projects.find(session.cwd, caller)
      const { enabled, k } = settings.current().recall
      if (off !== undefined || !enabled) return surfaceInTurn(request, { skipped: 'off' })
      const corpus = await open(dir)
      const last = shown
        .list(session.sessionId, session.harness)
        .items.filter(({ file, path }) => path === `${dir}/${file}`)
      const files = [...new Set(last.toReversed().map(({ file }) => file))].filter((file) => !isTeams(file))
      const ranking = { files: [], scores: [], fit: 0, explained: undefined }
      const choice: Choice = { dir, corpus, mode: 'local', k, files, ranking, isExcluded: isTeams }
      return surfaceInTurn(request, choice, mostBytes)
    },
    readAhead: (cwd: string, caller: Caller): void => {
      const { dir, off } = projects.find(cwd, caller)
      if (off !== undefined || !settings.current().recall.enabled) return
      open(dir).catch(logged('memories could not be read ahead'))
    },
    prefetch: (asked: RecallRequest, caller: Caller): { ticket: string } => {
      const request = { ...asked, query: shortened(asked.query) }
      const work = async (signal: AbortSignal) => ({ request, caller, chosen: await select(request, caller, signal) })
      return { ticket: tickets.begin(sessionOf(request), charsOf(request), work) }
    },
    /** Only what is collected counts as shown. */
    collect: async (ticket: string): Promise<Collected> => {
      const collected = tickets.collect(ticket)
      if (collected === 'pending') return { pending: true }
      const { request, caller, chosen } = collected.result
      return surfaceInTurn(request, await recheck(request, chosen, caller))
    },
    cancel: (ticket: string): { cancelled: boolean } => ({ cancelled: tickets.cancel(ticket) }),
    reset: (session: SessionName): void => {
      late.forget(idOf(session))
      shown.reset(session)
    },
    shown: shown.list,
    forget: shown.forget,
    start: (): void => {
      starting = clock.after(
        AFTER_START_MS,
        () => void readLastUsed().catch(logged('memories could not be read ahead')),
      )
    },
    stop: (): void => {
      starting?.stop()
      late.stop()
      tickets.stop()
      corpora.stop()
      shown.stop()
    },
  }
}

export type Recall = ReturnType<typeof createRecall>

function sessionOf({ sessionId, harness }: RecallRequest): string | undefined {
  return sessionId === undefined ? undefined : idOf({ sessionId, harness })
}

/** Through UTF-8: a slice would keep all of the text in memory, and may end in half a character. */
function shortened(query: string): string {
  if (query.length <= QUERY_CHARS) return query
  return Buffer.from(`${query.slice(0, QUERY_CHARS / 2)}\n${query.slice(-QUERY_CHARS / 2)}`).toString()
}

function charsOf({ query, readFiles = [], recentTools = [] }: RecallRequest): number {
  return [query, ...readFiles, ...recentTools].reduce((sum, { length }) => sum + length, 0)
}

function explained({ ranking, model }: Choice): NonNullable<RecallAnswer['explain']> {
  return {
    fit: ranking.fit,
    enough: ENOUGH,
    ranked: ranking.explained?.slice(0, 10) ?? [],
    ...(model !== undefined && { model }),
  }
}

const LOOKED_AT_CHARS = 1_000

export function hasEnoughWords(query: string): boolean {
  const segments = new Intl.Segmenter(undefined, { granularity: 'word' }).segment(query.slice(0, LOOKED_AT_CHARS))
  let words = 0
  for (const { isWordLike } of segments) if (isWordLike && ++words > 1) return true
  return false
}
