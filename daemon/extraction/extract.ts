/**
 * After a turn: reads what persons said since the last time, and has saved what they state, once. Numbered so that a kill
 * at any point leaves either nothing or all of it. Works without a model.
 */
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Evidence } from '../store/journal.ts'
import type { ProgressTable, Reached } from '../store/progress.ts'
import type { Said, SaidMessage, SaidSession } from '../store/said.ts'
import { endedPart } from './ended-part.ts'
import { localStamp } from './local-time.ts'
import { writesInto } from './own-writes.ts'
import { createReading, type Spoken, type Word } from './reading.ts'
import type { Statement } from './statements.ts'

type Along = { before(): void; takeBack(): void }
type Found = Pick<Statement, 'type' | 'name' | 'description' | 'body'> & { reason: string; evidence: Evidence[] }
type Saved = { runId: string; saved: string[]; waiting: number; known: number; refused: number } | 'lost'

type Settings = { enabled: boolean; everyTurns: number; nonInteractive: boolean }

type Deps = {
  said: Said
  progress: ProgressTable
  messagesAt: (harness: string, line: string) => Spoken[]
  redact: (text: string) => Promise<{ text: string }>
  /** Where the memories of a folder are, and why memory is off there, if it is. */
  placeOf: (cwd: string) => { dir: string; off: string | undefined }
  save: (run: {
    cwd: string
    memories: readonly Found[]
    along: (files: string[]) => Along
    mayWrite: () => boolean
  }) => Promise<Saved>
  /** Tells the session; returns how to take that back. */
  notify: (session: SessionKey, files: string[]) => () => void
  settings: () => Settings
  home: string
  blamesDisk: (error: unknown) => boolean
  clock: Pick<Clock, 'now'>
}

type SessionKey = { harness: string; sessionId: string }
type Job = { input: unknown }
type At = { signal: AbortSignal; stillOurs(): boolean }
type Outcome = { done: unknown; runId?: string } | { retry: string } | { wait: string }

const KIND = 'extract'
const LOST: Outcome = { retry: 'somebody else is at it' }

export function createExtraction(deps: Deps) {
  const { said, progress, placeOf, save, notify, settings, home, blamesDisk, clock } = deps
  const reading = createReading(deps)
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

  const run = async ({ input }: Job, { signal, stillOurs }: At): Promise<Outcome> => {
    const key = input as SessionKey
    // 1. What is new, as far as turns have ended.
    const { session, part } = look(key)
    const last = part.at(-1)
    if (!session || !last) return skipped('there is nothing new in it')
    if (turnsIn(part) < settings().everyTurns) return skipped('there are too few turns yet')
    const reached = reachedBy(part, last)
    const passBy = (why: string): Outcome => {
      if (!stillOurs()) return LOST
      progress.put(keyOf(key), reached)
      return skipped(why)
    }

    // 2. Whether anything of it may be kept.
    const off = offBecause(session)
    if (off !== undefined || session.cwd === null) return passBy(off ?? '')
    const { cwd } = session

    // 3. What persons state in it.
    const words = await reading.words(session.row, part, signal)
    const memories = await statedIn(words, key.sessionId)
    if (memories.length === 0) return passBy('nothing is stated in it')

    // 4. Two who keep the same turn would keep it twice.
    const { dir } = placeOf(cwd)
    if (await reading.someCall(part, (call) => writesInto(dir, call, { cwd, home })))
      return passBy('the agent wrote memories itself')

    // 5. All of it, and how far it goes, or nothing.
    const before = progress.find(keyOf(key))
    const along = (files: string[]): Along => {
      let untell = () => {}
      return {
        before: () => {
          progress.put(keyOf(key), reached)
          if (files.length > 0) untell = notify(key, files)
        },
        takeBack: () => {
          if (before) progress.put(keyOf(key), before)
          else progress.forget(keyOf(key))
          untell()
        },
      }
    }
    const saved = await save({ cwd, memories, along, mayWrite: stillOurs })
    if (saved === 'lost') return LOST
    // Their names are made of a person's words: how many is enough.
    const { runId, saved: files, waiting, known, refused } = saved
    return { done: { saved: files.length, waiting, known, refused }, runId }
  }

  const statedIn = async (words: readonly Word[], sessionId: string): Promise<Found[]> => {
    if (words.length === 0) return []
    // Loaded with the first words there are: its patterns would cost every start.
    const { statementsIn } = await import('./statements.ts')
    return words.flatMap(({ message: spoken, text, previousAssistant }) => {
      const saidMs = spoken.at ?? clock.now()
      const stated = statementsIn({ text, atIso: localStamp(saidMs), previousAssistant })
      const at = new Date(saidMs).toISOString()
      return stated.map(({ type, name, description, body, quote, cues }) => ({
        type,
        name,
        description,
        body,
        reason: `a person stated it (${cues.join(', ')})`,
        evidence: [{ sessionId, messageIds: [spoken.uid], excerpt: quote, at }],
      }))
    })
  }

  return {
    name: KIND,
    model: false,
    low: true as const,
    covered: ({ input }: Job) => !look(input as SessionKey).part.some(({ by }) => by === 'person'),
    run: (job: Job, at: At): Promise<Outcome> =>
      run(job, at).catch((error) => {
        if (blamesDisk(error)) return { wait: message(error) }
        throw error
      }),
  }
}

function skipped(why: string): Outcome {
  return { done: { skipped: why } }
}

function turnsIn(part: readonly SaidMessage[]): number {
  return part.filter(({ startsTurn, by }) => startsTurn === 1 && by === 'person').length
}

/** Lines without a time of their own are as late as the latest before them. */
function reachedBy(part: readonly SaidMessage[], { uid }: SaidMessage): Reached {
  return { message: uid, at: part.reduce((latest, { at }) => Math.max(latest, at ?? 0), 0) }
}
