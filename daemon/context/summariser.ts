/** What can stand for a conversation: its notes, or a summary by a model, which is told less when it was too much. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Agent } from '../agent/agent.ts'
import { daemonPrefix } from '../agent/prefix.ts'
import { cleanParts, readSession, renderMessage } from '../agent/rendering.ts'
import type { Core } from '../core.ts'
import type { Models } from '../models/models.ts'
import type { Notes as SessionNotes } from '../notes/notes.ts'
import type { Clock } from '../platform/clock.ts'
import { runCommand } from '../platform/process.ts'
import { findProjectRoot, privateFolder } from '../projects/paths.ts'
import type { MessageTable, SessionKey } from '../sessions/message-table.ts'
import { sessionName } from '../sessions/sessions.ts'
import { isCut, keptFrom, type Parts } from './cuts.ts'
import type { Message } from './messages.ts'
import { lastSummary, readSummary, type Scope, summaryTask } from './summary.ts'
import type { Counter } from './token-count.ts'
import { messagesOfTranscript, toldOf, toldTokens } from './transcript.ts'

export type Conversation = { key: SessionKey; cwd: string; source: 'given' | 'transcript' }

/** `runningSinceMs`: of an update, by the wall clock. `before`: what stands before their last message, newest first. */
export type Notes = {
  text: string
  lastMessageId: string
  runningSinceMs?: number | undefined
  before: () => readonly string[]
}

export type Answered = { text: string; cut?: boolean } | { failed: 'none' | 'stopped' | 'other'; message: string }

/** `shortened`: only a part of the conversation, so the prefix that the session's jobs share does not fit. */
export type Question = { messages: readonly Message[]; task: string; shortened: boolean; signal: AbortSignal }

const LAST = Number.MAX_SAFE_INTEGER
/** Records that are no messages stand between two messages, never many. */
const LOOK_BACK = 50
const SUMMARY_TOKENS = 20_000
const SUMMARY_MS = 300_000
const COMMAND = { timeoutMs: 10_000, maxBytes: 20_000 }

export function createSummariser(
  core: Core,
  models: Models,
  sessions: MessageTable,
  agent: Agent,
  notes: SessionNotes,
) {
  const { clock, settings, stateDir } = core
  const rootOf = (cwd: string) => findProjectRoot(cwd).root
  const isPrivate = (folder: string) =>
    privateFolder(settings.current().private, [folder, rootOf(folder)]) !== undefined

  const sessionOf = ({ harness, sessionId }: SessionKey) => {
    const found = sessions.session(harness, sessionId)
    return found && !(found.cwd !== null && isPrivate(found.cwd)) ? found : undefined
  }

  const notesOf = (key: SessionKey): Notes | undefined => {
    if (!settings.current().notes.enabled) return undefined
    const { content, covers, runningSinceMs } = notes.notesFor(key)
    const lastMessageId = covers?.message ?? ''
    const before = () => {
      const session = sessionOf(key)
      return session ? sessions.before(session.row, lastMessageId, LOOK_BACK).map(({ uid }) => uid) : []
    }
    return { text: content, lastMessageId, runningSinceMs, before }
  }

  /** What the jobs of the session share, where that is all of what is to be summarised. */
  const sharedPrefix = async ({ key, source }: Conversation, { messages, signal }: Question) => {
    const session = sessionOf(key)
    const [last] = session ? sessions.newest(session.row, 1) : []
    if (!session || !last) return undefined
    const lastSaid = messages.findLast(({ role, id }) => role === 'assistant' && id !== undefined)?.id
    if (source === 'given' && !(lastSaid !== undefined && sessions.has(session.row, lastSaid))) return undefined
    const { prefix, names } = await agent.sessionPrefix({
      ...{ key, row: session.row, upTo: last.id, lastAt: last.at ?? 0, signal },
      model: settings.current().model.compact,
      notes: () => notes.textOf(key),
    })
    if (prefix.kind === 'harness' || (notesOf(key)?.text ?? '') !== '') return prefix
    // The prefix may have left out the beginning, and no notes stand for it.
    for (const { by, uid } of sessions.from(session.row, undefined, last.id))
      if (by === 'person') return [...names.values()].includes(uid) ? prefix : undefined
    return prefix
  }

  /** Renders the whole given conversation, because the harness keeps no transcript to share a prefix with. */
  const ownPrefix = async ({ key }: Conversation, { messages, shortened }: Question) => {
    const own = { harness: key.harness, sessionId: `${key.sessionId} (context)` }
    if (shortened) agent.announceBreak(own, 'less is told')
    const rendered = []
    for (const [n, message] of toldOf(messages).entries()) {
      rendered.push(renderMessage(n + 1, message, await cleanParts(message)))
      if (n % 20 === 19) await turn()
    }
    const of = { key: sessionName(own), model: settings.current().model.compact, keep: '5m' } as const
    return daemonPrefix(of, { head: '<transcript>\n', messages: rendered, tokens: 0 })
  }

  return {
    notesOf,
    isOnline: ({ cwd }: Conversation) => models.waits() === undefined && !isPrivate(cwd),
    transcript: async (key: SessionKey, signal: AbortSignal): Promise<Message[] | undefined> => {
      const session = sessionOf(key)
      if (!session) return undefined
      const part = { row: session.row, from: undefined, upTo: LAST, signal }
      return messagesOfTranscript(await readSession(sessions, part))
    },
    instructions: async (signal: AbortSignal): Promise<string> => {
      const command = settings.current().context.preCompact
      if (command === null) return ''
      const ran = await runCommand(command, { clock, signal, ...COMMAND })
      return 'output' in ran ? ran.output : ''
    },
    ask: async (conversation: Conversation, question: Question): Promise<Answered> => {
      const shared = question.shortened ? undefined : await sharedPrefix(conversation, question)
      const report = await agent.run({
        job: 'compaction',
        project: rootOf(conversation.cwd),
        prefix: shared ?? (await ownPrefix(conversation, question)),
        directive: question.task,
        policy: { may: 'nothing' },
        reach: agent.reachOf(stateDir, []),
        limits: { turns: 3, outputTokens: 2 * SUMMARY_TOKENS, wallMs: SUMMARY_MS },
        maxTokens: SUMMARY_TOKENS,
        atTurnLimit: 'fail',
        ownsLease: () => true,
        signal: question.signal,
      })
      const { ended, why = 'it was given up', failure, text } = report
      if (ended === 'done' || ended === 'truncated') return { text }
      if (ended === 'aborted') return { failed: 'stopped', message: why }
      if (!failure) return { text, cut: true }
      const isNone = failure.failed === 'offline' || failure.failed === 'budget'
      return { failed: isNone ? 'none' : 'other', message: failure.message }
    },
  }
}
export type Summariser = ReturnType<typeof createSummariser>

const WAIT_MS = 15_000
const DEAD_MS = 60_000
const LOOK_MS = 200

export async function currentNotes(look: () => Notes | undefined, clock: Clock, signal: AbortSignal) {
  const startMs = clock.elapsed()
  for (;;) {
    const notes = look()
    const since = notes?.runningSinceMs
    const isRunning = since !== undefined && clock.now() - since <= DEAD_MS
    if (!isRunning || signal.aborted || clock.elapsed() - startMs >= WAIT_MS) return notes
    await new Promise<void>((resolve) => void clock.after(LOOK_MS, resolve))
  }
}

export function partsFromNotes(counter: Counter, messages: readonly Message[], notes: Notes): Parts | undefined {
  const last = lastKnown(messages, notes)
  if (last < 0) return undefined
  // Nothing before an earlier summary can be kept: it is gone already.
  const start = keptFrom(counter, messages, { from: last + 1, floor: lastSummary(messages.slice(0, last + 1)) + 1 })
  return { before: [], between: messages.slice(0, start), after: messages.slice(start) }
}

function lastKnown(messages: readonly Message[], { lastMessageId, before }: Notes): number {
  const places = new Map(messages.map(({ id }, at) => [id, at]))
  const known = places.has(lastMessageId) ? lastMessageId : (before().find((id) => places.has(id)) ?? '')
  return places.get(known) ?? -1
}

type Summarised =
  | { summary: string }
  | { failed: 'none' | 'stopped' | 'too-long' | 'unusable' | 'other'; message: string }

const RETRIES = 2
const SHORTENINGS = 3

export async function summarise(
  summariser: Summariser,
  conversation: Conversation,
  given: readonly Message[],
  { scope, instructions, signal }: { scope: Scope; instructions: string; signal: AbortSignal },
): Promise<Summarised> {
  const task = summaryTask({ scope, instructions })
  let messages = given
  let shortenings = 0
  for (let retries = 0; ; ) {
    const shortened = shortenings > 0 || scope !== 'all'
    const answer = await summariser.ask(conversation, { messages, task, shortened, signal })
    if ('failed' in answer) {
      const gap = answer.failed === 'other' ? tooLong(answer.message) : undefined
      if (!gap) return answer
      const fewer = shortenings < SHORTENINGS ? withoutOldest(messages, gap.gapTokens) : undefined
      if (!fewer) {
        const what = 'the conversation is too long to be summarised, even without its oldest part'
        return { failed: 'too-long', message: `${what}: ${answer.message}` }
      }
      shortenings++
      messages = fewer
      continue
    }
    const read = answer.cut ? ({ unusable: 'cut' } as const) : readSummary(answer.text)
    if ('summary' in read) return read
    if (retries++ < RETRIES) continue
    const calls = retries + shortenings
    return { failed: 'unusable', message: `the model gave no whole summary in ${calls} attempts (${read.unusable})` }
  }
}

const SAFETY = 1.1

/** A round is one question to the API: it begins with an answer and holds the results that it asked for. */
function roundsOf(messages: readonly Message[]): Message[][] {
  const rounds: Message[][] = []
  for (const [at, message] of messages.entries()) {
    const last = rounds.at(-1)
    if (!last || (message.role === 'assistant' && isCut(messages, at))) rounds.push([message])
    else last.push(message)
  }
  return rounds
}

/** Drops the beginning: what the server says is too much and a little more, else a fifth. Undefined if none stays. */
function withoutOldest(messages: readonly Message[], gapTokens: number | undefined): Message[] | undefined {
  const rounds = roundsOf(messages)
  if (rounds.length < 2) return undefined
  let drop = gapTokens === undefined ? Math.max(1, Math.floor(rounds.length / 5)) : 0
  for (let freed = 0; gapTokens && drop < rounds.length - 1 && freed < SAFETY * gapTokens; drop++)
    freed += toldTokens(rounds[drop] as Message[])
  return rounds.slice(drop).flat()
}

const TOO_LONG =
  /prompt is too long|request_too_large|exceeds the maximum size|context (?:window|length)|too many tokens/i

/** What a server says when it was sent too much, and how much that was. */
function tooLong(message: string): { gapTokens: number | undefined } | undefined {
  if (!TOO_LONG.test(message)) return undefined
  const [, sent, most] = /(\d[\d,]*)\s*tokens?\s*>\s*(\d[\d,]*)/i.exec(message) ?? []
  if (sent === undefined || most === undefined) return { gapTokens: undefined }
  const gap = Number(sent.replaceAll(',', '')) - Number(most.replaceAll(',', ''))
  return { gapTokens: gap > 0 ? gap : undefined }
}
