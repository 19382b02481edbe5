/** Searches what is new in a session for memories, by a model or by rules. A kill leaves a slice saved whole or not. */
import type { Agent, NotDone } from '../agent/agent.ts'
import type { Core } from '../core.ts'
import { type JobKind, LOST, type Outcome, type RunContext, skipped } from '../jobs/job.ts'
import type { NewMemory } from '../memory/change-run.ts'
import { isIndex } from '../memory/file-names.ts'
import type { Memory } from '../memory/memory.ts'
import type { Models } from '../models/models.ts'
import type { Notes } from '../notes/notes.ts'
import { message } from '../platform/files.ts'
import type { Projects } from '../projects/projects.ts'
import type { KnownSession, MessageRow, SessionKey } from '../sessions/message-table.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { createByModel } from './by-model.ts'
import { dayOfPart, hasWrite, localStamp, slicesOf, timesOf, turnsOf, wordsIn } from './session-words.ts'

type Input = SessionKey & { final?: true }
type Page = { key: SessionKey; session: KnownSession; cwd: string; part: readonly MessageRow[]; context: RunContext }

export type Slice = {
  key: SessionKey
  row: number
  cwd: string
  root: string
  dir: string
  part: readonly MessageRow[]
  signal: AbortSignal
  /** Whether the session's own agent wrote memories in it: saving the same turn here would duplicate them. */
  wroteItself(): Promise<boolean>
  /** Runs in the transaction that saves the files; returns what undoes it. */
  inTransaction(files: string[]): () => void
  mayWrite(): boolean
}

/** `waiting`: for review. */
export type Counts = { saved: number; waiting: number; known: number; refused: number }

/** `skip`: nothing was saved, and this part is done. `by`: rules, where a model could not do it. */
export type Kept =
  | (({ runId: string; counts: Counts; truncated?: true } | { skip: string }) & { by?: 'rules' })
  | { notDone: NotDone }

const KIND = 'extract'
const LAST_ATTEMPT = 3

export function createExtraction(
  core: Core,
  projects: Projects,
  sessions: Sessions,
  memory: Memory,
  notes: Notes,
  agent: Agent,
  models: Models,
) {
  const { settings, clock, disk, places } = core
  const { turn } = core.givingWay
  const { progress, notices } = sessions
  const byModel = createByModel(core, memory, notes, agent)
  const progressOf = ({ harness, sessionId }: SessionKey) => ({ harness, session: sessionId, kind: KIND })
  const placeOf = (cwd: string) => projects.find(cwd, { actor: 'agent:extract', env: {} })
  const isOnline = () => models.mode() === 'online'

  const newIn = (key: SessionKey) => {
    const session = sessions.session(key.harness, key.sessionId)
    return { session, pages: session ? sessions.after(session.row, progress.find(progressOf(key))) : [] }
  }

  const offBecause = ({ cwd, interactive }: KnownSession): string | undefined => {
    const { enabled, nonInteractive } = settings.current().extraction
    if (!enabled) return 'extraction is off'
    if (cwd === null) return 'the session names no folder'
    if (interactive === 0 && !nonInteractive) return 'no person sits at the session'
    const { off } = placeOf(cwd)
    return off === undefined ? undefined : `memory is off there: ${off}`
  }

  const putProgress = (key: SessionKey, part: readonly MessageRow[]) => {
    // A line without a time of its own is as late as the latest before it.
    const at = part.reduce((latest, message) => Math.max(latest, message.at ?? 0), 0)
    progress.put(progressOf(key), { message: part.at(-1)?.uid ?? '', at })
  }

  let rules: Promise<typeof import('./statements.ts')> | undefined
  // Loaded with the first message: compiling the patterns would cost every start of the daemon.
  const loadRules = async () => {
    const loaded = await import('./statements.ts')
    for (const _ of loaded.compilePatterns()) await turn()
    return loaded
  }

  const statedIn = async ({ row, part, key, signal }: Slice): Promise<NewMemory[]> => {
    const timeOf = timesOf(part, clock.now())
    const found: NewMemory[] = []
    for await (const { message, text, previousAssistant, minutesEast } of wordsIn(sessions, row, part, signal)) {
      rules ??= loadRules()
      const { statementsIn } = await rules
      await turn()
      const saidMs = timeOf(message)
      const at = new Date(saidMs).toISOString()
      const stated = statementsIn({ text, atIso: localStamp(saidMs, minutesEast), previousAssistant })
      for (const { type, name, description, body, quote, cues } of stated) {
        const evidence = [{ sessionId: key.sessionId, messageIds: [message.uid], excerpt: quote, at }]
        found.push({ type, name, description, body, reason: `a person stated it (${cues.join(', ')})`, evidence })
      }
    }
    return found
  }

  const byRules = async (slice: Slice): Promise<Kept> => {
    const memories = await statedIn(slice)
    if (memories.length === 0) return { skip: 'nothing is stated in it' }
    if (await slice.wroteItself()) return { skip: 'the agent wrote memories itself' }
    const { cwd, part, mayWrite, inTransaction } = slice
    const logDay = settings.current().dailyLog.enabled ? dayOfPart(part, clock.now()) : undefined
    const saved = await memory.save({ env: {}, cwd, memories, logDay, mayWrite, inTransaction })
    if (saved === 'lost') return { notDone: LOST }
    const { runId, saved: files, waiting, known, refused } = saved
    return { runId, counts: { saved: files.length, waiting, known, refused } }
  }

  const sliceOf = ({ key, session, cwd, part: page, context }: Page, part: readonly MessageRow[]): Slice => {
    const { dir, root } = placeOf(cwd)
    const facts = { key, row: session.row, cwd, root, dir, part, signal: context.signal }
    return {
      ...facts,
      wroteItself: () => {
        // A turn may be split over several slices, and all of it counts.
        const here = new Set(part)
        const whole = turnsOf(page).filter((messages) => messages.some((message) => here.has(message)))
        return hasWrite(whole.flat(), dir, { cwd, home: places.home })
      },
      inTransaction: (files) => {
        const before = progress.find(progressOf(key))
        putProgress(key, part)
        const told = files.filter((file) => !isIndex(file))
        const withdraw = told.length > 0 ? notices.saved(key, told) : undefined
        return () => {
          if (before) progress.put(progressOf(key), before)
          else progress.forget(progressOf(key))
          withdraw?.()
        }
      },
      mayWrite: () => context.ownsLease() && offBecause(session) === undefined,
    }
  }

  /** Slice by slice: what one saved stays saved when the next fails. */
  async function* keptOf(page: Page, attempts: number): AsyncGenerator<Kept> {
    const waiting: (readonly MessageRow[])[] = isOnline() ? slicesOf(page.part) : [page.part]
    for (let messages = waiting.shift(); messages; messages = waiting.shift()) {
      await turn()
      const slice = sliceOf(page, messages)
      if (!slice.mayWrite()) return yield { notDone: LOST }
      const tried = isOnline() ? await byModel(slice) : await byRules(slice)
      const isGivenUp = tried !== 'untold' && 'notDone' in tried && isHopeless(tried.notDone, attempts)
      const turns = turnsOf(messages)
      if (isGivenUp && turns.length > 1) {
        waiting.unshift(...turns)
        continue
      }
      // A turn that the model does not take must not block the ones after it.
      const kept: Kept = tried === 'untold' || isGivenUp ? { ...(await byRules(slice)), by: 'rules' } : tried
      if ('skip' in kept) {
        if (!slice.mayWrite()) return yield { notDone: LOST }
        putProgress(page.key, messages)
      }
      yield kept
    }
  }

  const run: JobKind['run'] = async ({ input, attempts }, context) => {
    const { final, ...key } = input as Input
    const { session, pages } = newIn(key)
    const ends: Kept[] = []
    for (const { part, more } of pages) {
      await turn()
      if (!session || part.length === 0) continue
      // 1. Whether enough turns have ended.
      const turns = part.filter(({ startsTurn, by }) => startsTurn === 1 && by === 'person').length
      const isFew = ends.length === 0 && !more && turns < settings.current().extraction.everyTurns
      if (!final && isFew) return skipped('there are too few turns yet')

      // 2. Whether anything of them may be saved.
      const { cwd } = session
      const off = offBecause(session)
      if (off !== undefined || cwd === null) {
        if (!context.ownsLease()) return LOST
        putProgress(key, part)
        ends.push({ skip: off ?? '' })
        continue
      }

      // 3. What is found in them is saved.
      for await (const kept of keptOf({ key, session, cwd, part, context }, attempts)) {
        if ('notDone' in kept) return kept.notDone
        ends.push(kept)
      }
    }
    return ends.length > 0 ? outcomeOf(ends) : skipped('there is nothing new in it')
  }

  const job: JobKind = {
    name: KIND,
    model: 'if-online',
    low: true,
    dirOf: ({ input }) => {
      const { harness, sessionId } = input as Input
      const cwd = sessions.session(harness, sessionId)?.cwd
      return cwd ? placeOf(cwd).dir : undefined
    },
    alreadyDone: ({ input }) => {
      const [first] = newIn(input as Input).pages
      return !first?.more && !first?.part.some(({ by }) => by === 'person')
    },
    run: (claimed, context) =>
      run(claimed, context).catch((error) => {
        const dir = job.dirOf?.(claimed)
        // Memories may be on another disk than the state folder.
        if (disk.blames(error) || (dir && memory.writer.blames(dir, error))) return { postponed: message(error) }
        throw error
      }),
  }
  return { job }
}

function isHopeless(notDone: NotDone, attempts: number): boolean {
  return notDone.of === 'part' && ('rejected' in notDone || attempts >= LAST_ATTEMPT)
}

/** Only numbers: names of files are made of a person's words. */
function outcomeOf(ends: readonly Kept[]): Outcome {
  const kept = ends.filter((end) => 'counts' in end)
  const last = kept.at(-1)
  const byRules = ends.filter((end) => 'by' in end).length
  const how = byRules > 0 && { byRules }
  if (!last) return { done: { skipped: ends.findLast((end) => 'skip' in end)?.skip ?? '', ...how } }
  const sum = (of: keyof Counts) => kept.reduce((total, { counts }) => total + counts[of], 0)
  const counts = { saved: sum('saved'), waiting: sum('waiting'), known: sum('known'), refused: sum('refused') }
  const truncated = kept.some((end) => end.truncated) && { truncated: true as const }
  return { done: { ...counts, ...how }, runId: last.runId, ...truncated }
}
