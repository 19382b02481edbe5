/** Makes a conversation fit again, by the cheapest way that does: the notes of its session, a model, or neither. */
import { hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Boundary, Compacted, CompactRequest } from '../../schema/context.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { createLru } from '../platform/lru.ts'
import { createInTurn } from '../platform/queue.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import { sessionName } from '../sessions/sessions.ts'
import { cutBefore, keptFrom, openPrompt, type Parts, splitAt } from './cuts.ts'
import { extractiveSummary, factsOf, missingFrom, openTodos, supplement } from './extractive.ts'
import { type Block, blocksIn, type Message, merged, recordOf, textsOf } from './messages.ts'
import { type Conversation, currentNotes, partsFromNotes, type Summariser, summarise } from './summariser.ts'
import { isSummary, lastSummary, type Strategy, summaryText } from './summary.ts'
import { type Counter, type Room, type Trigger, tokensInContext } from './token-count.ts'
import { readWorkingSet, type WorkingSet } from './working-set.ts'

export type Wanted = Pick<CompactRequest, 'trigger' | 'instructions' | 'partial' | 'restore' | 'usage' | 'preview'> & {
  room: Room
  signal: AbortSignal
}

type Run = (conversation: Conversation, messages: readonly Message[], wanted: Wanted) => Promise<Compacted>
type Draft = { parts: Parts; strategy: Strategy; messages: Message[] } & ReturnType<typeof completed>

/** Of the threshold: the rest is for the conversation that goes on. */
const RESTORED_SHARE = 0.8

export function createCompaction(core: Core, counter: Counter, guards: CompactionGuards, summariser: Summariser): Run {
  const drafted = async (parts: Parts, strategy: Strategy, summary: string, wanted: Wanted): Promise<Draft> => {
    await turn()
    const whole = completed(parts, summary, todosOf(wanted))
    await turn()
    return { parts, strategy, ...whole, messages: assemble(parts, strategy, whole.summary) }
  }

  const fromNotes = async ({ key }: Conversation, messages: readonly Message[], wanted: Wanted) => {
    const { room, signal } = wanted
    const notes = await currentNotes(() => summariser.notesOf(key), core.clock, signal)
    if (!notes || notes.text.trim() === '') return undefined
    const parts = partsFromNotes(counter, messages, notes)
    if (!parts || parts.between.length === 0) return undefined
    const draft = await drafted(parts, 'notes', notes.text, wanted)
    const tokens = counter.messages(draft.messages)
    return tokens < room.thresholds.autoCompact && tokens <= counter.messages(messages) ? draft : undefined
  }

  /** With no model: as much stays as fits beside a summary that says little of how things were done. */
  const extractive = async (messages: readonly Message[], chosen: Parts | undefined, wanted: Wanted) => {
    const draft = (parts: Parts) =>
      drafted(parts, 'extractive', extractiveSummary(parts.between, todosOf(wanted)), wanted)
    if (chosen) return draft(chosen)
    const open = openPrompt(messages)
    const recent = splitAt(messages, keptFrom(counter, messages, { from: open, floor: lastSummary(messages) + 1 }))
    const whole = await draft(recent)
    const fits = recent.between.length > 0 && counter.messages(whole.messages) < wanted.room.thresholds.autoCompact
    return fits ? whole : draft(splitAt(messages, open))
  }

  const find = async (conversation: Conversation, messages: readonly Message[], wanted: Wanted): Promise<Draft> => {
    const { partial, signal } = wanted
    const chosen = partial && partOf(messages, partial)
    const isOnline = summariser.isOnline(conversation)
    const { instructions = '' } = wanted
    // 1. Notes, unless a part was chosen or a model can follow the instructions: notes know nothing of them.
    const mayUseNotes = !chosen && !(isOnline && instructions.trim() !== '')
    const noted = mayUseNotes && (await fromNotes(conversation, messages, wanted))
    if (noted) return noted
    // 2. A model, where one may be asked.
    if (!isOnline) return extractive(messages, chosen, wanted)
    const parts = chosen ?? splitAt(messages, openPrompt(messages))
    if (parts.between.length === 0) throw nothing()
    const all = [instructions, await summariser.instructions(signal)].filter((text) => text.trim() !== '')
    const asked = { scope: partial?.direction ?? 'all', instructions: all.join('\n\n'), signal } as const
    const done = await summarise(summariser, conversation, parts.between, asked)
    if ('summary' in done) return drafted(parts, 'full', done.summary, wanted)
    // 3. Neither.
    if (done.failed === 'none') return extractive(messages, chosen, wanted)
    const message = `the conversation could not be summarised: ${done.message}`
    throw new MemoryError('CONFLICT', message, { reason: done.failed })
  }

  const run: Run = async (conversation, messages, wanted) => {
    const { key } = conversation
    const { preview, signal, trigger, usage } = wanted
    if (signal.aborted) throw new MemoryError('CONFLICT', 'the caller hung up', { reason: 'stopped' })
    if (messages.length === 0) throw nothing()
    const refused = preview ? undefined : guards.refusal(key, messages, trigger)
    if (refused)
      throw new MemoryError('CONFLICT', refused.message, { reason: refused.reason, hint: HINTS[refused.reason] })
    try {
      const draft = await find(conversation, messages, wanted)
      const { parts, strategy, summary, supplemented } = draft
      if (parts.between.length === 0) throw nothing()
      await turn()
      const { blocks, items } = restoredBeside(draft, messages, wanted)
      const result = blocks.length > 0 ? assemble(parts, strategy, summary, blocks) : draft.messages
      await turn()
      if (!preview) guards.compacted(key, result)
      const tokensBefore = tokensInContext(counter, messages, usage)
      return {
        strategy,
        messages: result,
        summary,
        boundary: boundaryOf(parts, trigger, tokensBefore),
        kept: parts.before.length + parts.after.length,
        restored: items,
        supplemented,
        tokensBefore,
        tokensAfter: counter.messages(result),
      }
    } catch (error) {
      // None of these is a sign that the next attempt fails too.
      const isHarmless =
        error instanceof MemoryError && (error.code !== 'CONFLICT' || HARMLESS.includes(error.reason ?? ''))
      if (!preview && !signal.aborted && !isHarmless) guards.failed(key)
      throw error
    }
  }

  /** What would be lost and fits beside the summary. Throws where the summary alone is too long. */
  const restoredBeside = (draft: Draft, messages: readonly Message[], { room, restore = {} }: Wanted): WorkingSet => {
    const { parts } = draft
    const tokens = counter.messages(draft.messages)
    if (tokens > counter.messages(messages))
      throw new MemoryError('CONFLICT', 'the summary is longer than what it would stand for', {
        reason: 'inflated',
        hint: 'go on as it is: so far nothing is gained by a summary',
      })
    const roomTokens = Math.max(0, Math.floor(room.thresholds.autoCompact * RESTORED_SHARE) - tokens)
    const kept = [...parts.before, ...parts.after]
    return readWorkingSet(core, { restore, between: parts.between, kept, roomTokens })
  }

  return oneAtATime(run)
}

function todosOf({ restore }: Wanted): string[] {
  return openTodos(restore?.todos ?? [])
}

const HARMLESS = ['nothing', 'stopped']

const HINTS = {
  breaker: 'compact by hand: that tries once more',
  thrash: 'go on with the messages of the last compaction',
}

function partOf(messages: readonly Message[], { direction, messageId }: NonNullable<CompactRequest['partial']>): Parts {
  const place = /^#(\d+)$/.exec(messageId)?.[1]
  const named = messages.findIndex(({ id }) => id === messageId)
  const at = named < 0 && place !== undefined ? Number(place) : named
  if (at < 0 || at >= messages.length)
    throw new MemoryError('NOT_FOUND', `no message ${messageId} is among those given`)
  const cut = cutBefore(messages, at)
  if (direction === 'up_to') return splitAt(messages, cut)
  return { before: messages.slice(0, cut), between: messages.slice(cut), after: [] }
}

function nothing(): MemoryError {
  return new MemoryError('CONFLICT', 'there is nothing to compact yet', { reason: 'nothing' })
}

type Running = { messages: readonly Message[]; wanted: Wanted; done: Promise<Compacted> }

/** A session is compacted once at a time; callers that ask for the same meanwhile have the same answer. A preview does not wait. */
function oneAtATime(run: Run): Run {
  const inTurn = createInTurn()
  const lasts = new Map<string, Running>()
  const compact: Run = (conversation, messages, wanted) => {
    if (wanted.preview) return run(conversation, messages, wanted)
    const name = sessionName(conversation.key)
    const last = lasts.get(name)
    if (last && isSame(last, messages, wanted))
      return last.done.catch((error) => {
        // The caller that asked first hung up; this one did not.
        if (last.wanted.signal.aborted) return compact(conversation, messages, wanted)
        throw error
      })
    const done = inTurn(name, () => run(conversation, messages, wanted))
    const mine = { messages, wanted, done }
    lasts.set(name, mine)
    const over = () => void (lasts.get(name) === mine && lasts.delete(name))
    done.then(over, over)
    return done
  }
  return compact
}

function isSame({ messages, wanted }: Running, others: readonly Message[], other: Wanted): boolean {
  if (wanted.signal.aborted || messages.length !== others.length) return false
  return (
    isDeepStrictEqual({ ...wanted, signal: null }, { ...other, signal: null }) && isDeepStrictEqual(messages, others)
  )
}

function completed({ before, between, after }: Parts, summary: string, openTodos: readonly string[]) {
  // Compared by fact: searching each one in all messages that stay would take quadratic time.
  const stays = new Set(factsOf([...before, ...after]).map(({ kind, text }) => `${kind} ${text}`))
  const gone = factsOf(between, openTodos).filter(({ kind, text }) => !stays.has(`${kind} ${text}`))
  const missing = missingFrom(summary, gone)
  const { text, named } = supplement(missing)
  return { summary: text === '' ? summary.trim() : `${summary.trim()}\n\n${text}`, supplemented: named }
}

function assemble({ before, between, after }: Parts, strategy: Strategy, summary: string, restored: string[] = []) {
  const text = summaryText(strategy, summary, before.length > 0)
  // A list without ids gets none.
  const isNamed = [before, between, after].some((part) => part.some(({ id }) => id !== undefined))
  const content = [text, ...restored].map((each) => ({ type: 'text', text: each }))
  return merged([...before, { ...(isNamed && { id: summaryId(between) }), role: 'user', content }, ...after])
}

function summaryId(between: readonly Message[]): string {
  return `compacted-${between.at(-1)?.id ?? between.length}`
}

function boundaryOf({ before, between, after }: Parts, trigger: Trigger, tokensBefore: number): Boundary {
  const all = [...before, ...between, ...after]
  const nameOf = (at: number) => all[at]?.id ?? `#${at}`
  const last = before.length + between.length - 1
  const kept = after.length > 0 ? { from: last + 1, to: all.length - 1 } : { from: 0, to: before.length - 1 }
  const hasIds = all.some(({ id }) => id !== undefined)
  return {
    type: 'compact_boundary',
    trigger,
    tokensBefore,
    lastMessageId: last < 0 ? null : nameOf(last),
    discoveredTools: discovered(all),
    ...(kept.to >= kept.from && {
      preserved: { head: nameOf(kept.from), anchor: hasIds ? summaryId(between) : 'summary', tail: nameOf(kept.to) },
    }),
  }
}

/** Tools that were found by a search: the harness has to name them again. */
function discovered(messages: readonly Message[]): string[] {
  const references = blocksIn(messages).flatMap(referencesIn).map(recordOf)
  const names = references.flatMap(({ type, tool_name: name }) =>
    type === 'tool_reference' && typeof name === 'string' ? [name] : [],
  )
  return [...new Set(names)].sort()
}

/** A harness searches with a tool of its own, or has the server search. */
function referencesIn({ type, content }: Block): unknown[] {
  const found = type === 'tool_search_tool_result' ? recordOf(content).tool_references : content
  return /tool_result$/.test(type) && Array.isArray(found) ? found : []
}

const FAILURES = 3
const CAP_SESSIONS = 1_000

/** `failures`: in a row. `summary`: SHA-256 of the last one. `answers`: how many stood beside it. */
type State = { failures: number; summary: string | null; answers: number }

type Refusal = { reason: 'breaker' | 'thrash'; message: string }

/** Keep a session from being compacted over and over: a breaker after failures, and one against doing it again at once. */
export function createCompactionGuards({ db, clock, disk }: Core) {
  const table = createCompactionTable(db.history)
  const known = createLru<string, State>(CAP_SESSIONS)
  const nameOf = (key: SessionKey) => hash('sha256', sessionName(key))
  const stateOf = (session: string): State =>
    known.get(session) ?? table.find(session) ?? { failures: 0, summary: null, answers: 0 }
  const note = (session: string, state: State) => {
    known.set(session, state)
    try {
      table.put(session, state, clock.now())
    } catch (error) {
      // On a full disk the compaction still succeeds; only its guard is not stored.
      if (!disk.blames(error)) throw error
    }
  }
  return {
    refusal: (key: SessionKey, messages: readonly Message[], trigger: Trigger): Refusal | undefined => {
      const { failures, summary, answers } = stateOf(nameOf(key))
      if (trigger === 'auto' && failures >= FAILURES)
        return { reason: 'breaker', message: `${failures} compactions of this session failed in a row` }
      if (summary !== null && summaryIn(messages) === summary && answersIn(messages) <= answers)
        return { reason: 'thrash', message: 'this session was compacted just now, and nothing was answered since' }
      return undefined
    },
    failed: (key: SessionKey) => {
      const { failures, ...last } = stateOf(nameOf(key))
      note(nameOf(key), { ...last, failures: failures + 1 })
    },
    compacted: (key: SessionKey, result: readonly Message[]) =>
      note(nameOf(key), { failures: 0, summary: summaryIn(result), answers: answersIn(result) }),
    expire: table.expire,
  }
}
export type CompactionGuards = ReturnType<typeof createCompactionGuards>

function answersIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'assistant').length
}

function summaryIn(messages: readonly Message[]): string | null {
  const text = messages.flatMap(textsOf).findLast(isSummary)
  return text === undefined ? null : hash('sha256', text)
}

function createCompactionTable(db: Db) {
  const find = db.prepare('SELECT failures, summary, answers FROM compactions WHERE session = ?')
  const put = db.prepare(
    `INSERT INTO compactions (session, failures, summary, answers, at) VALUES (@session, @failures, @summary, @answers, @at)
     ON CONFLICT (session) DO UPDATE
     SET failures = excluded.failures, summary = excluded.summary, answers = excluded.answers, at = excluded.at`,
  )
  const expire = db.prepare('DELETE FROM compactions WHERE at < ?')
  return {
    find: (session: string) => find.get(session) as State | undefined,
    put: (session: string, state: State, at: number) => void put.run({ session, ...state, at }),
    expire: (beforeMs: number): number => expire.run(beforeMs).changes,
  }
}
