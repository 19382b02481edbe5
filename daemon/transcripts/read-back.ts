/** Transcripts read back, for their texts are stored nowhere else: single lines by their place, and the turns of a session. */
import { closeSync, readSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { copied } from '../platform/text.ts'
import { redact } from '../secrets/redact.ts'
import { HEAD_CHARS, head, lastTotal, learn, placeIn, type Session, usageOf } from './digest.ts'
import type { By, End, Fact, Message, Rewound, ToolCall, Usage } from './formats/facts.ts'
import { present } from './formats/fields.ts'
import { adapterFor, nameOf, type Source } from './formats/format.ts'
import { type Cursor, createTail, openPlain } from './tail.ts'

export type Place = { harness: string; path: string; offset: number; length: number }

export type At<T> = (harness: string, line: string) => T | undefined

const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const MOST_OPEN = 32
const SCRATCH_BYTES = 65_536
const HANDFUL = 16
const HANDFUL_BYTES = 1024 * 1024

/** For one search: files stay open between messages. Read synchronously, because a thread takes ten times as long for a line. */
export function openReadBack<T>(at: At<T>) {
  // Grows with the longest line, and is kept: memory outside of the heap is collected late.
  let scratch = Buffer.allocUnsafe(SCRATCH_BYTES)
  const opened = new Map<string, number | undefined>()
  let reads = 0
  const close = () => {
    for (const fd of opened.values()) if (fd !== undefined) closeSync(fd)
    opened.clear()
  }
  const readOne = ({ harness, path, offset, length }: Place): T | undefined => {
    if (length > LONGEST_LINE_BYTES) return undefined
    if (!opened.has(path)) {
      if (opened.size >= MOST_OPEN) close()
      opened.set(path, openIfThere(path))
    }
    const fd = opened.get(path)
    if (fd === undefined) return undefined
    if (length > scratch.length) scratch = Buffer.allocUnsafe(length)
    const line = readExactly(fd, scratch, offset, length)
    return line === undefined ? undefined : at(harness, line)
  }
  return {
    /** All at once. Nothing where the file is gone, or was written anew and no longer has the line there. */
    read: async (places: readonly Place[]): Promise<(T | undefined)[]> => {
      if (reads++ > 0) await turn()
      return places.map(readOne)
    },
    close,
  }
}

/** In their order, a few at a time: many where lines are short, one where it is as long as a book. */
export function* handfuls<P extends Place>(places: readonly P[], most: number = HANDFUL): Generator<P[]> {
  let handful: P[] = []
  let bytes = 0
  for (const place of places) {
    if (handful.length > 0 && (handful.length >= most || bytes + place.length > HANDFUL_BYTES)) {
      yield handful
      handful = []
      bytes = 0
    }
    handful.push(place)
    bytes += place.length
  }
  if (handful.length > 0) yield handful
}

function openIfThere(path: string): number | undefined {
  try {
    return openPlain(path)
  } catch {
    return undefined
  }
}

function readExactly(fd: number, into: Buffer, offset: number, length: number): string | undefined {
  try {
    return readSync(fd, into, 0, length, offset) === length ? into.toString('utf8', 0, length) : undefined
  } catch {
    return undefined
  }
}

/** Whose: that of the session or of the sub-agent the transcript is of, unless one is named. */
export type Of = { subAgent?: string; session?: Session }

/**
 * In the order of arrival. The newest message is where the conversation stands; from there each parent is followed. A parent
 * that is not there is taken to have been the message before, because lines get lost; a circle ends the walk.
 */
export function liveChain(facts: readonly Fact[], of: Of = {}): Message[] {
  const { session, all } = arrived(facts, of.session ?? {})
  const whose = of.subAgent ?? session.subAgent
  const messages = all.filter(({ subAgent }) => subAgent === whose)
  const places = new Map<string, number>()
  for (const [place, { id }] of messages.entries()) if (id !== undefined) places.set(id, place)
  const live = new Set<number>()
  for (let at = messages.length - 1; at >= 0 && !live.has(at); ) {
    live.add(at)
    const parentId = messages[at]?.parentId
    if (parentId === null) break
    at = (parentId === undefined ? undefined : places.get(parentId)) ?? at - 1
  }
  addAnswers(messages, live)
  return messages.filter((_, place) => live.has(place))
}

/** A message that comes again keeps its place and has its last words. */
function arrived(facts: readonly Fact[], known: Session): { session: Session; all: Message[] } {
  let session = known
  const all: Message[] = []
  const places = new Map<string, number>()
  for (const fact of facts) {
    if (fact.kind === 'session') session = learn(session, fact)
    if (fact.kind === 'rewound') forget(all, places, firstDropped(fact, all, places))
    if (fact.kind !== 'message') continue
    const place = (fact.id === undefined ? undefined : places.get(fact.id)) ?? all.length
    if (fact.id !== undefined) places.set(fact.id, place)
    all[place] = placeIn(session, { ...fact })
  }
  return { session, all }
}

function firstDropped(rewound: Rewound, all: readonly Message[], places: ReadonlyMap<string, number>): number {
  if ('from' in rewound) return places.get(rewound.from) ?? all.length
  let from = all.length
  for (let turns = rewound.turns; turns > 0 && from > 0; ) {
    from -= 1
    const message = all[from]
    if (message?.startsTurn && message.by !== 'injected') turns -= 1
  }
  return from
}

function forget(all: Message[], places: Map<string, number>, from: number): void {
  for (const { id } of all.splice(from)) if (id !== undefined) places.delete(id)
}

/**
 * One answer may be several lines, one under the other, and each result hangs on the line of its call: the way up from the
 * last result misses the calls beside it, and their results.
 */
function addAnswers(messages: readonly Message[], live: Set<number>): void {
  const answers = new Set<string>()
  for (const place of live) answers.add(messages[place]?.answerId ?? '')
  answers.delete('')
  const parts = new Set<string>()
  for (const [place, { answerId, id }] of messages.entries()) {
    if (answerId === undefined || !answers.has(answerId)) continue
    live.add(place)
    if (id !== undefined) parts.add(id)
  }
  for (const [place, { by, parentId }] of messages.entries()) {
    if (by === 'tool' && typeof parentId === 'string' && parts.has(parentId)) live.add(place)
  }
}

export type Turn = {
  /** `injected`: no person asked; a task was done, or a command brought a prompt of its own. */
  startedBy: By
  prompt: string
  end: End | 'open'
  toolCalls: ToolCall[]
  /** Of all that was said and done, beginning with what began it. */
  messageIds: string[]
  usage: Usage
  startedAt?: number
  endedAt?: number
  cwd?: string
}

type Course = { messages: [Message, ...Message[]]; end: Turn['end']; endedAt: number | undefined }

export function turnsOf(chain: readonly Message[]): Turn[] {
  const courses = coursesOf(chain)
  let counted: Usage | undefined
  return courses.map((course, at) => {
    const usage = usageOf(course.messages, counted)
    counted = lastTotal(course.messages) ?? counted
    return turnOf(at === courses.length - 1 ? course : over(course), usage)
  })
}

function coursesOf(chain: readonly Message[]): Course[] {
  const courses: Course[] = []
  // What was injected begins a turn only when an agent answers it.
  let pending: Message | undefined
  for (const message of chain) {
    const current = courses.at(-1)
    if (message.startsTurn && !goesOn(current, message)) {
      pending = message.by === 'injected' ? message : undefined
      if (!pending) courses.push(begun(message))
    } else if (!pending) {
      if (current) follow(current, message)
    } else if (message.by === 'agent') {
      const course = begun(pending)
      follow(course, message)
      courses.push(course)
      pending = undefined
    }
  }
  return courses
}

function begun(start: Message): Course {
  return { messages: [start], end: 'open', endedAt: undefined }
}

/** A notice, or a command beside it, is part of a turn that runs; so is what the harness counts to it. */
function goesOn(current: Course | undefined, { by, turnId }: Message): boolean {
  if (current?.end !== 'open') return false
  return by === 'injected' || (turnId !== undefined && turnId === current.messages[0].turnId)
}

/** An end is taken back when the agent goes on, as it does when a hook keeps it from stopping. */
function follow(course: Course, message: Message): void {
  course.messages.push(message)
  const works = message.by === 'agent' || message.by === 'tool'
  if (message.ends === undefined && !works) return
  course.end = message.ends ?? 'open'
  course.endedAt = message.ends && message.at
}

/** Another turn has begun: this one is finished if it seemed so, and else cut off. */
function over(course: Course): Course {
  if (course.end === 'settling') return { ...course, end: 'final' }
  return course.end === 'open' ? { ...course, end: 'aborted' } : course
}

function turnOf({ messages, end, endedAt }: Course, usage: Usage): Turn {
  const [start, ...rest] = messages
  const deeds = [start, ...rest.filter(({ by }) => by === 'person' || by === 'agent' || by === 'tool')]
  return present<Turn>({
    startedBy: start.by,
    prompt: start.text,
    end,
    toolCalls: deeds.flatMap(({ toolCalls }) => toolCalls),
    messageIds: deeds.flatMap(({ id }) => id ?? []),
    usage,
    startedAt: start.at,
    endedAt,
    cwd: start.cwd,
  })
}

const SLICE_BYTES = 256_000

export function createTurnReader(clock: Clock): (sources: readonly Source[]) => Promise<Turn[]> {
  const tail = createTail(clock)
  const factsOf = async (source: Source): Promise<Fact[]> => {
    const { read } = adapterFor(source.harness)
    const facts: Fact[] = []
    let cursor: Cursor | undefined
    for (let more = true; more; ) {
      const slice = tail.readSlice(source.path, cursor, { capBytes: SLICE_BYTES })
      if (!('cursor' in slice)) return facts
      // Replaced while it was read: what came before is not part of it.
      if (slice.changed === 'rewritten') facts.length = 0
      for (const { text, offset } of slice.lines)
        for (const fact of read(text)) facts.push(fact.kind === 'message' ? light({ id: `#${offset}`, ...fact }) : fact)
      cursor = slice.cursor
      more = slice.more
      await turn()
    }
    return facts
  }

  return async (sources) => {
    const [first] = sources
    if (!first) return []
    const facts: Fact[] = []
    for (const source of sources) for (const fact of await factsOf(source)) facts.push(fact)
    const { sessionId } = adapterFor(first.harness).describe(nameOf(first))
    const turns = turnsOf(liveChain(facts, { session: sessionId === undefined ? {} : { sessionId } }))
    const clean = []
    for (const told of turns) clean.push({ ...told, prompt: head((await redact(told.prompt)).text) })
    return clean
  }
}

/** Gigabytes of answers and results are read by, and only what a list of turns shows is kept. */
function light(message: Fact & { kind: 'message' }): Fact {
  // Cut only after redaction to what is shown: half of a credential is not recognised.
  const text = message.startsTurn ? copied(head(message.text, 2 * HEAD_CHARS)) : ''
  return { ...message, text, toolCalls: message.toolCalls.map((call) => ({ ...call, input: '' })), toolResults: [] }
}
