/**
 * Notes of a session: after a turn they are brought up to date when enough was said since, by a model where one may be asked
 * and else by rules. After a kill, notes and what they cover are both as they were or both as they are.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { SessionNotes } from '../../schema/session.ts'
import type { Agent } from '../agent/agent.ts'
import { sessionName } from '../agent/rendering.ts'
import type { Core } from '../core.ts'
import type { JobKind, Outcome } from '../jobs/job.ts'
import type { Models } from '../models/models.ts'
import { message } from '../platform/files.ts'
import { copied, padded, textTokens, tokensIn } from '../platform/text.ts'
import type { Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import {
  endedPart,
  type MessageRow,
  type MessageTable,
  readMessages,
  type SessionKey,
} from '../sessions/message-table.ts'
import type { Settings } from '../settings/settings.ts'
import { untoldOf, updateByModel } from './notes-by-model.ts'
import { type Coverage, createNotesFile } from './notes-file.ts'
import { cappedNotes, keptNotes } from './notes-guard.ts'
import { addGathered, type Call, createGathering, type Result, type Spoken } from './notes-rules.ts'
import { blankNotes, readCustom } from './template.ts'

type Input = SessionKey & { final?: true }

const LOST: Outcome = { failed: 'another run has taken it over' }
/** After so long the person has left: rules are enough, and cost nothing. */
const STANDS_STILL_MS = 3_600_000
/** So often a model that fails is asked before rules do it. */
const MOST_ATTEMPTS = 3
/** Only the ends of what is longer are looked at, and of those not where they were cut: half a credential is not recognised. */
const WHOLE_CHARS = 24_000
const EDGE_CHARS = 12_000
const MARGIN_CHARS = 4_000

export function createNotes(core: Core, projects: Projects, sessions: MessageTable, agent: Agent, models: Models) {
  const { clock, health, settings, disk } = core
  const file = createNotesFile(core)
  const claudeDir = projects.configDir()
  const running = new Map<string, number>()

  const newIn = (key: SessionKey) => {
    const session = sessions.session(key.harness, key.sessionId)
    const kept = file.read(key)
    const reached = kept?.covers && { message: kept.covers.message, at: kept.covers.saidAt }
    return { session, kept, part: session ? endedPart(sessions.talkAfter(session.row, reached)) : [] }
  }

  const placeOf = (cwd: string) => projects.find(cwd, { actor: 'agent:notes', env: {} })

  const offBecause = (cwd: string | null): string | undefined => {
    if (cwd === null) return 'the session names no folder'
    const { off } = placeOf(cwd)
    return off === undefined ? undefined : `memory is off there: ${off}`
  }

  /** The person's own template and instructions; what is wrong with them is a condition. */
  const customised = () => {
    const { problems, ...custom } = readCustom(claudeDir)
    if (problems.length === 0) health.clear('notes')
    else health.raise('notes', `${problems.join('; ')}: correct it, or move it away`)
    return custom
  }

  const run: JobKind['run'] = async ({ input, attempts }, { signal, ownsLease }) => {
    const { final, ...key } = input as Input
    // 1. What is new, as far as turns have ended, and whether it may be noted.
    const { session, kept, part } = newIn(key)
    const last = part.at(-1)
    if (!session || !last) return skipped('there is nothing new in it')
    const { cwd, row, interactive } = session
    const off = offBecause(cwd)
    if (off !== undefined || cwd === null) return skipped(off ?? '')

    // 2. Whether it is enough. Notes of a session that is over are to be whole, for no other turn will bring them up to date.
    const { now: tokens, least } = await weigh(part, kept?.covers?.tokens, signal)
    const toolCalls = sumCalls(part)
    const since = kept?.covers && { tokens: least, toolCalls }
    const verdict = dueNow({ tokens, since, lastTurnToolCalls: sumCalls(lastTurnOf(part)) }, settings.current().notes)
    if ('skip' in verdict && !(final && since)) return skipped(verdict.skip)

    const { template, prompt } = customised()
    let notes = kept?.text ? kept.text : blankNotes(template)
    let onDisk = kept?.text
    const covers = (upTo: readonly MessageRow[], source: Coverage['source'], at = tokens): Coverage => ({
      message: upTo.at(-1)?.uid ?? last.uid,
      saidAt: lastTimeIn(upTo, kept?.covers?.saidAt),
      tokens: at,
      source,
      at: clock.now(),
    })
    /** Never over what a person wrote or a purge took out meanwhile. */
    const put = (text: string, what: Coverage | undefined): 'kept' | 'lost' => {
      if (!ownsLease() || file.read(key)?.text !== onDisk) return 'lost'
      file.write(key, text, what)
      onDisk = text
      notes = text
      return 'kept'
    }
    const clean = async (text: string) => (await redact(keptNotes(template, text))).text
    const byRules = async (some: readonly MessageRow[], at?: number) => {
      const gathering = createGathering(cwd)
      for await (const spoken of redactedMessages(some, signal)) gathering.hear(spoken)
      const text = await clean(addGathered(template, notes, gathering.gathered, cwd))
      return put(text, covers(some, 'rules', at))
    }
    const doneBy = (source: Coverage['source']): Outcome => ({ done: { by: source, tokens } })

    const name = sessionName(key)
    running.set(name, clock.now())
    try {
      // 3. By a model, which sees the file as it is; rules add first what it cannot be told.
      let rest: readonly MessageRow[] = part
      const lastAt = lastTimeIn(part)
      const mayAsk = !models.waits() && interactive !== 0 && clock.now() - lastAt <= STANDS_STILL_MS
      if (mayAsk && attempts <= MOST_ATTEMPTS) {
        const model = settings.current().model.notes
        const told = await agent.sessionPrefix({
          key,
          ...{ row, upTo: last.id, lastAt, model, signal },
          notes: () => notesFor(key).content,
        })
        const untold = untoldOf(told, part)
        rest = part.slice(untold.length)
        const isThere = kept?.text === notes ? 'kept' : undefined
        const begun =
          untold.length > 0 ? await byRules(untold, Math.min(least, tokens)) : (isThere ?? put(notes, kept?.covers))
        if (begun === 'lost') return LOST
        if (rest.length === 0) return doneBy('rules')
        const updated = await updateByModel(agent, {
          ...{ key, told, part: rest, template, prompt, notes, ownsLease, signal },
          hasEarlier: untold.length > 0 || kept?.covers !== undefined,
          project: placeOf(cwd).root,
          folder: file.folderOf(key),
          keep: async (text) => put(await clean(text), covers(rest, 'model')),
        })
        if ('done' in updated) {
          const isSeen = updated.done === 'changed' ? 'kept' : put(notes, covers(rest, kept?.covers?.source ?? 'model'))
          return isSeen === 'lost' ? LOST : doneBy('model')
        }
        signal.throwIfAborted()
        if ('failed' in updated && attempts < MOST_ATTEMPTS) return updated
      }

      // 4. By rules.
      return (await byRules(rest)) === 'lost' ? LOST : doneBy('rules')
    } finally {
      running.delete(name)
    }
  }

  const job: JobKind = {
    name: 'notes',
    setting: 'notes',
    model: 'may',
    alreadyDone: ({ input }) => newIn(input as Input).part.length === 0,
    run: (claimed, context) =>
      run(claimed, context).catch((error) => {
        if (disk.blames(error)) return { postponed: message(error) }
        throw error
      }),
  }

  /** Within their caps. `content` is empty where nothing is noted yet; `runningSinceMs`: since when they are being written. */
  const notesFor = (key: SessionKey) => {
    const kept = file.read(key)
    const { template } = readCustom(claudeDir)
    const text = kept?.covers && kept.text.trim() !== '' ? cappedNotes(template, kept.text) : ''
    const content = text === blankNotes(template) ? '' : text
    return {
      content,
      tokens: tokensIn(content),
      lastMessageId: kept?.covers?.message,
      updatedMs: kept?.covers?.at,
      source: kept?.covers?.source,
      runningSinceMs: running.get(sessionName(key)),
    }
  }

  return {
    job,
    file,
    notesFor,
    textOf: (key: SessionKey): string => notesFor(key).content,
    answer: (key: SessionKey): SessionNotes => {
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

export type Notes = ReturnType<typeof createNotes>

function skipped(why: string): Outcome {
  return { done: { skipped: why } }
}

function lastTimeIn(messages: readonly MessageRow[], before = 0): number {
  return messages.reduce((latest, { at }) => Math.max(latest, at ?? 0), before)
}

function sumCalls(messages: readonly MessageRow[]): number {
  return messages.reduce((sum, { toolCalls }) => sum + toolCalls, 0)
}

/** From the last question or order on. */
function lastTurnOf(part: readonly MessageRow[]): readonly MessageRow[] {
  const start = part.findLastIndex(({ startsTurn, by }) => startsTurn === 1 && by !== 'injected')
  return start < 0 ? part : part.slice(start)
}

async function weigh(part: readonly MessageRow[], before: number | undefined, signal: AbortSignal) {
  const later = sinceUsage(part)
  let estimate = 0
  for await (const [, { text, toolCalls, toolResults }] of readMessages(
    conversation(part.slice(part.length - later)),
    signal,
  )) {
    const blocks = [text, ...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
    for (const block of blocks) estimate += textTokens(block)
  }
  return contextTokens(part, estimate, before)
}

function conversation(part: readonly MessageRow[]): MessageRow[] {
  return part.filter(({ by }) => by === 'person' || by === 'agent' || by === 'tool')
}

/** What was said in a part of a session, free of credentials. */
export async function* redactedMessages(part: readonly MessageRow[], signal: AbortSignal): AsyncGenerator<Spoken> {
  for await (const [{ uid, at, startsTurn }, line] of readMessages(conversation(part), signal)) {
    // Redacting one message may take as long as a whole answer: other work gets its turn in between.
    await turn()
    const toolCalls: Call[] = []
    for (const call of line.toolCalls) toolCalls.push({ ...call, input: await clean(call.input) })
    const toolResults: Result[] = []
    for (const result of line.toolResults) toolResults.push({ ...result, text: await clean(result.text) })
    yield { uid, at, startsTurn, by: line.by, text: await clean(line.text), toolCalls, toolResults }
  }
}

async function clean(text: string): Promise<string> {
  if (text === '') return ''
  if (text.length <= WHOLE_CHARS) return (await redact(text)).text
  const head = (await redact(copied(text.slice(0, EDGE_CHARS)))).text
  const tail = (await redact(copied(text.slice(-EDGE_CHARS)))).text
  return `${head.slice(0, -MARGIN_CHARS)}\n[…]\n${tail.slice(MARGIN_CHARS)}`
}

type Thresholds = Pick<Settings['notes'], 'initTokens' | 'updateTokens' | 'toolCalls'>

type Course = {
  tokens: number
  /** What they have to have grown from; nothing where there are no notes yet. */
  since: { tokens: number; toolCalls: number } | undefined
  lastTurnToolCalls: number
}

export function dueNow(
  { tokens, since, lastTurnToolCalls }: Course,
  at: Thresholds,
): { due: 'first' | 'again' } | { skip: string } {
  if (!since) return tokens >= at.initTokens ? { due: 'first' } : { skip: 'there is too little in it yet' }
  if (tokens - since.tokens < at.updateTokens) return { skip: 'too little was said since' }
  const isPause = lastTurnToolCalls === 0
  return since.toolCalls >= at.toolCalls || isPause ? { due: 'again' } : { skip: 'the agent is in the middle of it' }
}

type Weighed = { tokens: number | null }

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
    now: last === undefined ? (before ?? 0) + padded(later) : last + later,
    least: used.reduce((least, tokens) => Math.min(least, tokens), before ?? Number.POSITIVE_INFINITY),
  }
}
