/**
 * After a turn: brings the notes of a session up to date when enough was said since, by a model where one may be asked and
 * else by rules. Numbered so that a kill at any point leaves notes and what they cover as they were, or both as they are.
 */

import type { SessionNotes } from '../../schema/session.ts'
import type { Forking } from '../agent/forking.ts'
import type { Model } from '../models/model.ts'
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import { tokensIn } from '../platform/text.ts'
import { endedPart } from '../sessions/ended-part.ts'
import type { Said, SaidMessage, SaidSession } from '../sessions/message-table.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { type Asking, untoldOf, updateByModel } from './notes-by-model.ts'
import type { Kept, NotesClaim, NotesFiles, NotesKey } from './notes-file.ts'
import { cappedNotes, keptNotes } from './notes-guard.ts'
import { createReading, type Line } from './notes-messages.ts'
import { addGathered, createGathering } from './notes-rules.ts'
import { blankNotes, type Custom, readCustom, type Template } from './template.ts'

export type SessionKey = { harness: string; sessionId: string }

export type UpdateDeps = {
  said: Pick<Said, 'session' | 'talkAfter'>
  files: NotesFiles
  messagesAt: (harness: string, line: string) => Line[]
  /** As far as turns have ended. */
  endedPart: (messages: SaidMessage[]) => SaidMessage[]
  redact: (text: string) => Promise<{ text: string }>
  /** The project of a folder, and why memory is off there, if it is. */
  placeOf: (cwd: string) => { root: string; off: string | undefined }
  custom: () => Custom
  settings: () => Thresholds & { enabled: boolean }
  asking: Asking
  /** Why no model may be asked just now. */
  modelWaits: () => unknown
  blamesDisk: (error: unknown) => boolean
  clock: Pick<Clock, 'now'>
}

type Job = { input: unknown; attempts: number }
type At = { signal: AbortSignal; stillOurs(): boolean }
type Outcome = { done: unknown } | { retry: string; afterMs?: number | undefined } | { wait: string }

const LOST: Outcome = { retry: 'somebody else is at it' }
/** Nobody waits for notes of a session that stands still: they cost nothing then. */
const STANDS_STILL_MS = 3_600_000
/** So often a model that fails is asked before rules do it. */
const MOST_ATTEMPTS = 3

export function createUpdates(deps: UpdateDeps) {
  const { said, files, endedPart, redact, placeOf, custom, settings, asking, modelWaits, blamesDisk, clock } = deps
  const reading = createReading(deps)
  const running = new Map<string, number>()

  const look = (key: NotesKey) => {
    const session = said.session(key.harness, key.session)
    const kept = files.read(key)
    const reached = kept?.covers && { message: kept.covers.message, at: kept.covers.saidAt }
    return { session, kept, part: session ? endedPart(said.talkAfter(session.row, reached)) : [] }
  }

  const offBecause = ({ cwd }: SaidSession): string | undefined => {
    if (!settings().enabled) return 'notes are off'
    if (cwd === null) return 'nobody knows where the session runs'
    const { off } = placeOf(cwd)
    return off === undefined ? undefined : `memory is off there: ${off}`
  }

  const weigh = async (part: readonly SaidMessage[], kept: Kept | undefined, signal: AbortSignal) => {
    const later = sinceUsage(part)
    let estimate = 0
    for await (const [, { text, toolCalls, toolResults }] of reading.raw(part.slice(part.length - later), signal)) {
      const blocks = [text, ...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
      for (const block of blocks) estimate += blockTokens(block)
    }
    return contextTokens(part, estimate, kept?.covers?.tokens)
  }

  const gathered = async (part: readonly SaidMessage[], cwd: string | null, signal: AbortSignal) => {
    const gathering = createGathering(cwd)
    for await (const spoken of reading.spoken(part, signal)) gathering.hear(spoken)
    return gathering.gathered
  }

  const run = async ({ input, attempts }: Job, { signal, stillOurs }: At): Promise<Outcome> => {
    const { harness, sessionId, final } = input as SessionKey & { final?: true }
    const key = { harness, session: sessionId }
    // 1. What is new, as far as turns have ended, and whether it may be noted.
    const { session, kept, part } = look(key)
    const last = part.at(-1)
    if (!session || !last) return skipped('there is nothing new in it')
    const off = offBecause(session)
    if (off !== undefined || session.cwd === null) return skipped(off ?? '')
    const { cwd, row, interactive } = session

    // 2. Whether it is enough.
    const { now: tokens, least } = await weigh(part, kept, signal)
    const toolCalls = sumCalls(part)
    const since = kept?.covers && { tokens: least, toolCalls }
    const verdict = dueNow({ tokens, since, lastTurnToolCalls: sumCalls(lastTurnOf(part)) }, settings())
    // Notes of a session that is over are to be whole: nobody will say enough for another look.
    if ('skip' in verdict && !(final && since)) return skipped(verdict.skip)

    const by = (who: NotesClaim['source']): Outcome => ({ done: { by: who, tokens } })
    const name = nameOf(key)
    running.set(name, clock.now())
    try {
      const { template, prompt } = custom()
      let notes = kept?.text ? kept.text : blankNotes(template)
      const covers = (upTo: readonly SaidMessage[], source: NotesClaim['source'], at = tokens) => ({
        message: upTo.at(-1)?.uid ?? last.uid,
        saidAt: upTo.reduce((latest, each) => Math.max(latest, each.at ?? 0), kept?.covers?.saidAt ?? 0),
        tokens: at,
        source,
        at: clock.now(),
      })
      let onDisk = kept?.text
      /** 3. What was noted and what it covers: both or neither, and never over what a person wrote or a purge took out meanwhile. */
      const put = (text: string, what: Parameters<NotesFiles['write']>[2]): 'kept' | 'lost' => {
        if (!stillOurs() || files.read(key)?.text !== onDisk) return 'lost'
        files.write(key, text, what)
        onDisk = text
        notes = text
        return 'kept'
      }
      const clean = async (text: string) => (await redact(keptNotes(template, text))).text
      /** 4. By rules. */
      const byRules = async (some: readonly SaidMessage[], at?: number) => {
        const text = await clean(addGathered(template, notes, await gathered(some, cwd, signal), cwd))
        return put(text, covers(some, 'rules', at))
      }

      // 5. By a model, which sees the file as it is; rules add what it is not told.
      let rest: readonly SaidMessage[] = part
      const lastAt = part.reduce((latest, each) => Math.max(latest, each.at ?? 0), 0)
      const mayAsk = !modelWaits() && interactive !== 0 && clock.now() - lastAt <= STANDS_STILL_MS
      if (mayAsk && attempts <= MOST_ATTEMPTS) {
        const told = await asking.tell({ key, row, upTo: last.id, lastAt, model: asking.model(), signal })
        const untold = untoldOf(told, part)
        rest = part.slice(untold.length)
        const isThere = kept?.text === notes ? 'kept' : undefined
        const begun =
          untold.length > 0 ? await byRules(untold, Math.min(least, tokens)) : (isThere ?? put(notes, kept?.covers))
        if (begun === 'lost') return LOST
        if (rest.length === 0) return by('rules')
        const updated = await updateByModel(asking, {
          ...{ key, told, part: rest, template, prompt, notes, stillOurs, signal },
          hasEarlier: untold.length > 0 || kept?.covers !== undefined,
          project: placeOf(cwd).root,
          folder: files.folderOf(key),
          keep: async (text) => put(await clean(text), covers(rest, 'model')),
        })
        if ('done' in updated) {
          const isSeen = updated.done === 'changed' ? 'kept' : put(notes, covers(rest, kept?.covers?.source ?? 'model'))
          return isSeen === 'lost' ? LOST : by('model')
        }
        signal.throwIfAborted()
        if ('retry' in updated && attempts < MOST_ATTEMPTS) return updated
      }
      return (await byRules(rest)) === 'lost' ? LOST : by('rules')
    } finally {
      running.delete(name)
    }
  }

  return {
    /** Since when the notes of a session are being written. */
    runningSince: (key: NotesKey): number | undefined => running.get(nameOf(key)),
    kind: {
      name: 'notes',
      model: 'may' as const,
      covered: ({ input }: Pick<Job, 'input'>): boolean => {
        const { harness, sessionId } = input as SessionKey
        return look({ harness, session: sessionId }).part.length === 0
      },
      run: (job: Job, at: At): Promise<Outcome> =>
        run(job, at).catch((error) => {
          if (blamesDisk(error)) return { wait: message(error) }
          throw error
        }),
    },
  }
}

function skipped(why: string): Outcome {
  return { done: { skipped: why } }
}

function nameOf({ harness, session }: NotesKey): string {
  return JSON.stringify([harness, session])
}

function sumCalls(messages: readonly SaidMessage[]): number {
  return messages.reduce((sum, { toolCalls }) => sum + toolCalls, 0)
}

/** From the last thing somebody asked on. */
function lastTurnOf(part: readonly SaidMessage[]): readonly SaidMessage[] {
  const start = part.findLastIndex(({ startsTurn, by }) => startsTurn === 1 && by !== 'injected')
  return start < 0 ? part : part.slice(start)
}

/** Session notes, put together: where they are kept, the job that writes them, and how they are told. */

type Deps = Pick<UpdateDeps, 'said' | 'redact' | 'placeOf' | 'settings' | 'blamesDisk' | 'clock'> & {
  files: NotesFiles
  forking: Pick<Forking, 'tell' | 'run' | 'reachOf'>
  model: Pick<Model, 'waits'>
  modelName: () => string
  health: Health
  /** Where a person's own template and instructions may be. */
  claudeDir: string
}

export function createNoting({ files, forking, model, modelName, health, claudeDir, ...deps }: Deps) {
  const updates = createUpdates({
    ...deps,
    files,
    messagesAt,
    endedPart,
    custom: () => {
      const custom = readCustom(claudeDir)
      if (custom.troubles.length === 0) health.clear('notes')
      else health.raise('notes', `${custom.troubles.join('; ')}: correct it, or move it away`)
      return custom
    },
    asking: { ...forking, model: modelName },
    modelWaits: model.waits,
  })
  return {
    kind: updates.kind,
    ...createNotesAnswers({
      files,
      template: () => readCustom(claudeDir).template,
      runningSince: updates.runningSince,
    }),
  }
}

export type Noting = ReturnType<typeof createNoting>

/** Notes as others use them: within their caps, with what they cover and whether they are being written. */

type AnswersDeps = {
  files: Pick<NotesFiles, 'read'>
  template: () => Template
  runningSince: (key: NotesKey) => number | undefined
}

/** `content` is empty where nothing is noted yet. Times in ms. */
export type Notes = {
  content: string
  tokens: number
  lastMessageId: string | undefined
  updatedMs: number | undefined
  source: 'model' | 'rules' | undefined
  runningSinceMs: number | undefined
}

export function createNotesAnswers({ files, template, runningSince }: AnswersDeps) {
  const notesFor = (key: NotesKey): Notes => {
    const kept = files.read(key)
    const sections = template()
    const text = kept?.covers && kept.text.trim() !== '' ? cappedNotes(sections, kept.text) : ''
    const content = text === blankNotes(sections) ? '' : text
    return {
      content,
      tokens: tokensIn(content),
      lastMessageId: kept?.covers?.message,
      updatedMs: kept?.covers?.at,
      source: kept?.covers?.source,
      runningSinceMs: runningSince(key),
    }
  }
  return {
    notesFor,
    /** For whoever needs only the words. */
    textOf: (key: NotesKey): string => notesFor(key).content,
    answer: (key: NotesKey): SessionNotes => {
      const { content, tokens, lastMessageId, updatedMs, source, runningSinceMs } = notesFor(key)
      return {
        content,
        tokens,
        ...(lastMessageId !== undefined && { lastMessageId }),
        ...(updatedMs !== undefined && { updatedAt: new Date(updatedMs).toISOString() }),
        ...(source && { source }),
        ...(runningSinceMs !== undefined && { updatingSince: new Date(runningSinceMs).toISOString() }),
      }
    },
  }
}

/** Decides whether the notes of a session are to be written. Does no I/O. */

export type Thresholds = {
  /** Tokens in context at which notes are written first. */
  initTokens: number
  /** By so many they must have grown since, always. */
  updateTokens: number
  /** And so many tools must have been called since, unless the last turn called none. */
  toolCalls: number
}

export type Course = {
  tokens: number
  /** What they have to have grown from; nothing where there are no notes yet. */
  since: { tokens: number; toolCalls: number } | undefined
  lastTurnToolCalls: number
}

export type Verdict = { due: 'first' | 'again' } | { skip: string }

export function dueNow({ tokens, since, lastTurnToolCalls }: Course, at: Thresholds): Verdict {
  if (!since) return tokens >= at.initTokens ? { due: 'first' } : { skip: 'there is too little in it yet' }
  if (tokens - since.tokens < at.updateTokens) return { skip: 'too little was said since' }
  const isPause = lastTurnToolCalls === 0
  return since.toolCalls >= at.toolCalls || isPause ? { due: 'again' } : { skip: 'the agent is in the middle of it' }
}

/** How many tokens are in the context of a session, by what its answers used and an estimate of what came after. Pure. */

export type Weighed = { tokens: number | null }

/** Each block by itself, rounded up: four bytes a token, two where it is JSON. */
export function blockTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / (isJson(text) ? 2 : 4))
}

/** What is only estimated is counted a third higher. */
export function estimated(tokens: number): number {
  return Math.ceil((tokens * 4) / 3)
}

/** How many of the last messages came after the last answer that says what it used; all where none does. */
export function sinceUsage(messages: readonly Weighed[]): number {
  return messages.length - 1 - messages.findLastIndex(({ tokens }) => tokens !== null && tokens > 0)
}

/**
 * `later`: the estimate of what came after the last usage. `before`: what it was when the messages began. The least there
 * was in between is what growth is counted from: a harness that compacts begins again from little.
 */
export function contextTokens(messages: readonly Weighed[], later: number, before: number | undefined) {
  const used = messages.flatMap(({ tokens }) => (tokens !== null && tokens > 0 ? [tokens] : []))
  const last = used.at(-1)
  return {
    now: last === undefined ? (before ?? 0) + estimated(later) : last + later,
    least: used.reduce((least, tokens) => Math.min(least, tokens), before ?? Number.POSITIVE_INFINITY),
  }
}

function isJson(text: string): boolean {
  const trimmed = text.trim()
  if (!/^[[{]/.test(trimmed) || !/[\]}]$/.test(trimmed)) return false
  try {
    JSON.parse(trimmed)
    return true
  } catch {
    return false
  }
}
