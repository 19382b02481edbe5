/** Transcripts read back, because their texts are stored nowhere else: lines by their place, and the turns of a session. */
import { closeSync, readSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { copied } from '../platform/text.ts'
import { redact } from '../secrets/redact.ts'
import { HEAD_CHARS, head, lastTotal, learn, placeIn, type Session, usageOf } from './digest.ts'
import type { By, End, Fact, Message, Rewound, ToolCall, Usage } from './formats/facts.ts'
import { present } from './formats/fields.ts'
import { adapterFor, nameOf, type Source } from './formats/format.ts'
import { createTail, openPlain, unlessGone } from './tail.ts'

export type Place = { harness: string; path: string; offset: number; length: number }

const LONGEST_LINE_BYTES = 64 * 1024 * 1024
const MOST_OPEN = 32
const SCRATCH_BYTES = 65_536
const LINES_AT_ONCE = 16
const BYTES_AT_ONCE = 1024 * 1024

/** Gives nothing where the file is gone or no longer has the line there. Other work gets its turn between lines. */
export async function* readBack<P extends Place, T>(
  places: Iterable<P>,
  at: (harness: string, line: string) => T,
  { linesAtOnce = LINES_AT_ONCE, onTurn = () => {} }: { linesAtOnce?: number | undefined; onTurn?: () => void } = {},
) {
  const lines = openLines()
  let count = 0
  let bytes = 0
  try {
    for (const place of places) {
      if (count >= linesAtOnce || (count > 0 && bytes + place.length > BYTES_AT_ONCE)) {
        await turn()
        onTurn()
        count = 0
        bytes = 0
      }
      count++
      bytes += place.length
      const line = lines.read(place)
      yield [place, line === undefined ? undefined : at(place.harness, line)] as const
    }
  } finally {
    lines.close()
  }
}

/** Files stay open from line to line. Read synchronously, because a thread takes ten times as long for a line. */
function openLines() {
  // Grows with the longest line, and is kept: memory outside of the heap is collected late.
  let scratch = Buffer.allocUnsafe(SCRATCH_BYTES)
  const opened = new Map<string, number>()
  const close = () => {
    for (const fd of opened.values()) closeSync(fd)
    opened.clear()
  }
  const open = (path: string): number => {
    if (opened.size >= MOST_OPEN) close()
    const fd = openPlain(path)
    opened.set(path, fd)
    return fd
  }
  return {
    read: ({ path, offset, length }: Place): string | undefined => {
      if (length > LONGEST_LINE_BYTES) return undefined
      if (length > scratch.length) scratch = Buffer.allocUnsafe(length)
      const got = unlessGone(path, () => readSync(opened.get(path) ?? open(path), scratch, 0, length, offset))
      return got === length ? scratch.toString('utf8', 0, length) : undefined
    },
    close,
  }
}

/** From the newest message up through its parents. A lost parent counts as the message before; a circle ends the walk. */
export function liveChain(facts: readonly Fact[], of: { subAgent?: string; session?: Session } = {}): Message[] {
  const { session, all } = arrived(facts, of.session ?? {})
  // The transcript of a sub-agent is its own conversation.
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

/** An answer may be a chain of lines with a result beside each: the way up from the last result misses the others. */
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

/** A notice or command while a turn runs is part of it; so is what the harness gives the id of that turn. */
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
    for await (const { changed, lines } of tail.slices(source.path, { capBytes: SLICE_BYTES })) {
      // Replaced while it was read: what came before is not part of it.
      if (changed === 'rewritten') facts.length = 0
      for (const { text, offset } of lines)
        for (const fact of read(text)) facts.push(fact.kind === 'message' ? light({ id: `#${offset}`, ...fact }) : fact)
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

/** Transcripts may have gigabytes of answers and results: only what a list of turns shows is kept. */
function light(message: Fact & { kind: 'message' }): Fact {
  // Cut only after redaction to what is shown: half of a credential is not recognised.
  const text = message.startsTurn ? copied(head(message.text, 2 * HEAD_CHARS)) : ''
  return { ...message, text, toolCalls: message.toolCalls.map((call) => ({ ...call, input: '' })), toolResults: [] }
}
