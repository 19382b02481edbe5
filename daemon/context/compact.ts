/**
 * Makes a conversation fit again, by the cheapest way that does: its notes, a model, or neither. Decides in this order;
 * everything it needs to know or do is given.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Boundary, Compacted, CompactRequest, Restore } from '../../schema/context.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { createInTurn } from '../platform/queue.ts'
import type { Guards } from './compaction-guards.ts'
import { currentNotes, cutBefore, keptFrom, type Notes, openPrompt, partsFromNotes } from './cuts.ts'
import { extractiveSummary, factsOf, missingFrom, openTodos, supplement } from './extractive.ts'
import { type Block, blocksOf, type Message, merged, recordOf } from './messages.ts'
import { type Ask, createSummarising, type Question } from './summariser.ts'
import { lastSummary, type Scope, type Strategy, summaryText } from './summary.ts'
import { type Counter, type Room, type Trigger, tokensInContext } from './token-count.ts'
import type { SessionKey } from './tool-results.ts'
import type { createRestore } from './working-set.ts'

export type Conversation = {
  key: SessionKey
  cwd: string
  /** Whether it was read from the transcript of the session. */
  source: 'given' | 'transcript'
}

export type CompactDeps = {
  counter: Counter
  guards: Guards
  clock: Clock
  /** Of a session; nothing where there are none, or they are off. */
  notes: (key: SessionKey) => Notes | undefined
  /** Whether a model may be asked. */
  isOnline: (conversation: Conversation) => boolean
  ask: (conversation: Conversation, question: Question) => ReturnType<Ask>
  restore: ReturnType<typeof createRestore>
  /** What the user's own command has to say to a summary. */
  preCompact: (signal: AbortSignal) => Promise<string>
  /** The session is not what it was: what it was shown may be shown again, and its cached beginning is of no use. */
  onCompacted: (key: SessionKey) => Promise<void>
  /** What went wrong beside an answer that is good. */
  onError: (error: unknown) => void
}

export type Wanted = Pick<CompactRequest, 'trigger' | 'instructions' | 'partial' | 'restore' | 'usage' | 'preview'> & {
  room: Room
  signal: AbortSignal
}

/** What is left of the threshold is for the conversation that goes on. */
const RESTORED_SHARE = 0.8

export function createCompaction(deps: CompactDeps) {
  const { counter, guards, clock, notes, isOnline, ask, restore, preCompact, onCompacted, onError } = deps

  type Draft = { parts: Parts; strategy: Strategy; messages: Message[] } & Whole

  const drafted = (parts: Parts, strategy: Strategy, summary: string, todos: readonly string[]): Draft => {
    const whole = completed(parts, summary, todos)
    return { parts, strategy, ...whole, messages: assemble(parts, { strategy, summary: whole.summary }) }
  }

  const fromNotes = async (key: SessionKey, messages: readonly Message[], wanted: Wanted, todos: readonly string[]) => {
    const found = await currentNotes(() => notes(key), { clock, signal: wanted.signal })
    if (!found || found.text.trim() === '') return undefined
    const parts = partsFromNotes(counter, messages, found)
    if (!parts || parts.between.length === 0) return undefined
    const draft = drafted(parts, 'notes', found.text, todos)
    const tokens = counter.messages(draft.messages)
    const fits = tokens < wanted.room.thresholds.autoCompact && tokens <= counter.messages(messages)
    return fits ? draft : undefined
  }

  const byModel = async (conversation: Conversation, parts: Parts, scope: Scope, wanted: Wanted) => {
    const summarise = createSummarising((question) => ask(conversation, question))
    const instructions = [wanted.instructions ?? '', await preCompact(wanted.signal)]
      .filter((text) => text.trim() !== '')
      .join('\n\n')
    return summarise(parts.between, { scope, instructions, signal: wanted.signal })
  }

  /** As much as fits beside a summary that says little of how things were done. */
  const byItself = (
    messages: readonly Message[],
    chosen: Parts | undefined,
    { room }: Wanted,
    todos: readonly string[],
  ): Draft => {
    const draft = (parts: Parts) => drafted(parts, 'extractive', extractiveSummary(parts.between, todos), todos)
    if (chosen) return draft(chosen)
    const open = openPrompt(messages)
    const recent = splitAt(messages, keptFrom(counter, messages, { from: open, floor: lastSummary(messages) + 1 }))
    const whole = draft(recent)
    const fits = recent.between.length > 0 && counter.messages(whole.messages) < room.thresholds.autoCompact
    return fits ? whole : draft(splitAt(messages, open))
  }

  const find = async (
    conversation: Conversation,
    messages: readonly Message[],
    wanted: Wanted,
    todos: readonly string[],
  ): Promise<Draft> => {
    const { key } = conversation
    const chosen = wanted.partial && partOf(messages, wanted.partial)
    // Notes know nothing of what somebody wants a summary to look to.
    const isAsked = isOnline(conversation)
    const isFree = !chosen && !(isAsked && (wanted.instructions ?? '').trim() !== '')
    const noted = isFree ? await fromNotes(key, messages, wanted, todos) : undefined
    if (noted) return noted
    if (!isAsked) return byItself(messages, chosen, wanted, todos)
    const parts = chosen ?? splitAt(messages, openPrompt(messages))
    if (parts.between.length === 0) throw nothing()
    const done = await byModel(conversation, parts, wanted.partial?.direction ?? 'all', wanted)
    if ('summary' in done) return drafted(parts, 'full', done.summary, todos)
    if (done.failed === 'none') return byItself(messages, chosen, wanted, todos)
    throw new MemoryError('CONFLICT', `the conversation could not be summarised: ${done.message}`, {
      reason: done.failed,
    })
  }

  const run: Run = async (conversation, messages, wanted) => {
    const { key } = conversation
    const name = sessionName(key)
    if (wanted.signal.aborted) throw new MemoryError('CONFLICT', 'nobody waits for it any more', { reason: 'stopped' })
    if (messages.length === 0) throw nothing()
    const refused = wanted.preview ? undefined : guards.refusal(name, messages, wanted.trigger)
    if (refused)
      throw new MemoryError('CONFLICT', refused.message, { reason: refused.reason, hint: HINTS[refused.reason] })
    const todos = openTodos(wanted.restore?.todos ?? [])
    try {
      const draft = await find(conversation, messages, wanted, todos)
      if (draft.parts.between.length === 0) throw nothing()
      const { result, restored } = finish(draft, messages, wanted)
      if (!wanted.preview) {
        guards.compacted(name, result)
        // Done is done: whoever waits for it gets it, though the disk may be too full to say so to others.
        await onCompacted(key).catch(onError)
      }
      return answerOf(draft, result, restored, messages, wanted)
    } catch (error) {
      // Whoever hung up, named what is not there, had nothing to compact, or was stopped with the daemon is no sign that the
      // next attempt fails too.
      const isHarmless =
        error instanceof MemoryError && (error.code !== 'CONFLICT' || HARMLESS.includes(error.reason ?? ''))
      const counts = !wanted.preview && !wanted.signal.aborted && !isHarmless
      if (counts) guards.failed(name)
      throw error
    }
  }

  return oneAtATime(run)

  function finish({ parts, strategy, summary, messages: bare }: Draft, messages: readonly Message[], wanted: Wanted) {
    const tokens = counter.messages(bare)
    if (tokens > counter.messages(messages))
      throw new MemoryError('CONFLICT', 'the summary is longer than what it would stand for', {
        reason: 'inflated',
        hint: 'go on as it is: so far nothing is gained by a summary',
      })
    const roomTokens = Math.max(0, Math.floor(wanted.room.thresholds.autoCompact * RESTORED_SHARE) - tokens)
    const asked: Restore = wanted.restore ?? {}
    const kept = [...parts.before, ...parts.after]
    const restored = restore({ restore: asked, between: parts.between, kept, roomTokens })
    const isMore = restored.blocks.length > 0
    return { result: isMore ? assemble(parts, { strategy, summary, restored: restored.blocks }) : bare, restored }
  }

  function answerOf(
    { parts, strategy, summary, supplemented }: Draft,
    result: Message[],
    restored: ReturnType<typeof restore>,
    messages: readonly Message[],
    { trigger, usage }: Wanted,
  ): Compacted {
    const tokensBefore = tokensInContext(counter, messages, usage)
    return {
      strategy,
      messages: result,
      summary,
      boundary: boundaryOf(parts, { trigger, tokensBefore }),
      kept: parts.before.length + parts.after.length,
      restored: restored.items,
      supplemented,
      tokensBefore,
      tokensAfter: counter.messages(result),
    }
  }
}

const HARMLESS = ['nothing', 'stopped']

const HINTS = {
  breaker: 'compact by hand: that tries once more',
  thrash: 'go on with the messages of the last compaction',
}

function splitAt(messages: readonly Message[], at: number): Parts {
  return { before: [], between: messages.slice(0, at), after: messages.slice(at) }
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

/** Lets a session be compacted once at a time, and whoever asks for the same meanwhile have the same answer for one price. */

export type Run = (conversation: Conversation, messages: readonly Message[], wanted: Wanted) => Promise<Compacted>

export function sessionName({ harness, session }: SessionKey): string {
  return JSON.stringify([harness, session])
}

type Running = { messages: readonly Message[]; wanted: Wanted; done: Promise<Compacted> }

/** What is only looked at beforehand waits for nobody. */
export function oneAtATime(run: Run): Run {
  const inTurn = createInTurn()
  const lasts = new Map<string, Running>()
  const compact: Run = (conversation, messages, wanted) => {
    if (wanted.preview) return run(conversation, messages, wanted)
    const name = sessionName(conversation.key)
    const last = lasts.get(name)
    if (last && isSame(last, messages, wanted))
      return last.done.catch((error) => {
        // Who asked first hung up; this one did not.
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

/**
 * Puts a compacted conversation together: what stays, the summary, and what the summary had left out. Checks that
 * everything that must survive does. Pure.
 */

/** `before` and `after` stay as they are, `between` is what the summary stands for. */
export type Parts = { before: readonly Message[]; between: readonly Message[]; after: readonly Message[] }

export type Whole = { summary: string; supplemented: number }

/** With whatever the summary, and what stays beside it, does not name. `openTodos`: where the harness says what is to do. */
export function completed({ before, between, after }: Parts, summary: string, openTodos: readonly string[]): Whole {
  // What stays tells of its own: to look for each thing in all of it would take the square of what was said.
  const stays = new Set(factsOf([...before, ...after]).map(({ kind, text }) => `${kind} ${text}`))
  const gone = factsOf(between, openTodos).filter(({ kind, text }) => !stays.has(`${kind} ${text}`))
  const missing = missingFrom(summary, gone)
  const { text, named } = supplement(missing)
  return { summary: text === '' ? summary.trim() : `${summary.trim()}\n\n${text}`, supplemented: named }
}

/** `restored`: blocks that are put back beside the summary. */
export function assemble(
  { before, between, after }: Parts,
  { strategy, summary, restored = [] }: { strategy: Strategy; summary: string; restored?: readonly string[] },
): Message[] {
  const text = summaryText(strategy, summary, before.length > 0)
  // Only where the others have names does one more stand out among them.
  const isNamed = [before, between, after].some((part) => part.some(({ id }) => id !== undefined))
  const content = [text, ...restored].map((each) => ({ type: 'text', text: each }))
  return merged([...before, { ...(isNamed && { id: summaryId(between) }), role: 'user', content }, ...after])
}

/** The same conversation gives the same name. */
export function summaryId(between: readonly Message[]): string {
  return `compacted-${between.at(-1)?.id ?? between.length}`
}

/** What a harness is told of the place where a conversation was compacted. Pure. */

export function boundaryOf(
  parts: Parts,
  { trigger, tokensBefore }: { trigger: Trigger; tokensBefore: number },
): Boundary {
  const { before, between, after } = parts
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

/** Tools that were found by searching for them: a harness has to name them again. */
function discovered(messages: readonly Message[]): string[] {
  const names = messages.flatMap(({ content }) =>
    blocksOf(content)
      .flatMap(referencesIn)
      .flatMap((part) => {
        const { type, tool_name } = recordOf(part)
        return type === 'tool_reference' && typeof tool_name === 'string' ? [tool_name] : []
      }),
  )
  return [...new Set(names)].sort()
}

/** A harness searches with a tool of its own, or has the server search. */
function referencesIn({ type, content }: Block): unknown[] {
  const found = type === 'tool_search_tool_result' ? recordOf(content).tool_references : content
  return /tool_result$/.test(type) && Array.isArray(found) ? found : []
}
