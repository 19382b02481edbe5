/** Makes rows of lines: what is stored of each message, and what is then known of the session. Reads no transcript itself. */
import { hash } from 'node:crypto'
import { findProjectRoot, privateFolder } from '../projects/paths.ts'
import { type Adapter, type End, type Message, type SessionFact, speaker, type Usage } from './formats/facts.ts'
import { present } from './formats/fields.ts'
import { adapterFor } from './formats/format.ts'
import type { Line } from './tail.ts'
import type { MessageStep, SessionRow, Step } from './transcript-table.ts'

/** The state that reading the next slice of a file needs; stored with its cursor. */
export type Known = {
  session: Session
  hidden?: true
  counted?: Usage
  /** Rows alone cannot count turns: the conversation has branched, or something injected may have begun a turn. */
  unsure?: true
  last?: string
  /** The turn that was read last has ended, and no listener was told. */
  ended?: Ended
}

export type Ended = { end: End; sessionId: string; at?: number; cwd?: string }

/** `unnamed`: the name of a session that no line names. */
type File = { adapter: Adapter; harness: string; unnamed: string; folders: Folders }

export type Folders = ReturnType<typeof createFolders>

/** Where sessions run, looked up once for each of the few folders that a slice names in line after line. */
export function createFolders(privatePaths: readonly string[]) {
  const known = new Map<string, { root: string; isPrivate: boolean }>()
  const look = (cwd: string) => {
    const before = known.get(cwd)
    if (before) return before
    const { root } = findProjectRoot(cwd)
    const found = { root, isPrivate: privateFolder(privatePaths, [cwd, root]) !== undefined }
    known.set(cwd, found)
    return found
  }
  return {
    projectOf: (cwd: string | undefined) => (cwd === undefined ? undefined : look(cwd).root),
    isPrivate: (cwd: string) => look(cwd).isPrivate,
  }
}

export function digest(lines: readonly Line[], before: Known, file: File) {
  const told = lines.map((line) => ({ line, facts: file.adapter.read(line.text) }))
  const state: Known = { ...before }
  if (state.session.cwd === undefined && !state.hidden) {
    // The first lines of a session may not say yet where it runs: they belong where the next ones do.
    const facts = told.flatMap((one) => one.facts)
    const [cwd] = facts.flatMap((fact) => (fact.kind === 'session' && fact.cwd) || [])
    if (cwd !== undefined) learnFrom({ kind: 'session', cwd }, state, file.folders)
  }
  const steps: Step[] = []
  const broken = new Map<string, number>()
  for (const { line, facts } of told) {
    let place = 0
    for (const fact of facts) {
      if (fact.kind === 'session') learnFrom(fact, state, file.folders)
      else if (fact.kind === 'broken' || fact.kind === 'unknown')
        broken.set(fact.kind, (broken.get(fact.kind) ?? 0) + 1)
      else if (fact.kind === 'rewound') steps.push(fact)
      else if (fact.kind === 'message') {
        const step = take(fact, line, place++, state, file)
        if (step) steps.push(step)
      }
    }
  }
  return { steps, broken, known: state }
}

function learnFrom(fact: SessionFact, state: Known, { isPrivate }: Folders): void {
  state.session = learn(state.session, fact)
  if (fact.cwd === undefined) return
  delete state.hidden
  if (!isPrivate(fact.cwd)) return
  state.hidden = true
  const { sessionId, subAgent } = state.session
  state.session = present<Session>({ sessionId, subAgent })
}

function take(fact: Message, line: Line, place: number, state: Known, file: File): MessageStep | undefined {
  const message = placeIn(state.session, fact)
  if (message.cwd === undefined ? state.hidden : file.folders.isPrivate(message.cwd)) return undefined
  noteCourse(message, state)
  const sessionId = state.session.sessionId ?? file.unnamed
  const tokens = message.total ? usageOf([message], state.counted) : message.usage
  const counted = message.total?.usage
  if (counted) state.counted = counted
  if (message.subAgent === undefined) noteEnd(message, sessionId, state)
  const text = indexedText(message)
  if (text === '' && !says(message)) return undefined
  return {
    kind: 'message',
    session: rowOf(message, sessionId, state.session, file),
    name: message.id === undefined ? { hash: nameless(line, place) } : { id: message.id },
    subAgent: message.subAgent ?? '',
    offset: line.offset,
    length: line.length,
    at: message.at,
    by: message.by,
    answerId: message.answerId,
    startsTurn: message.startsTurn ? 1 : 0,
    ends: message.ends,
    toolCalls: message.toolCalls.length,
    tokens,
    text,
  }
}

/** Most records of a harness hold nothing that a caller can ask for. */
function says({ by, startsTurn, ends, usage, total }: Message): boolean {
  if (by === 'person' || by === 'agent' || by === 'tool') return true
  return (startsTurn ?? ends ?? usage ?? total) !== undefined
}

function rowOf({ cwd, subAgent }: Message, id: string, session: Session, { harness, folders }: File): SessionRow {
  return {
    harness,
    id,
    forkOf: session.forkOf,
    cwd,
    project: folders.projectOf(cwd),
    cwdOf: subAgent === undefined ? 'session' : 'sub-agent',
    branch: session.branch,
    startedAt: session.startedAt,
    interactive: session.interactive,
  }
}

/** Results and parts of an answer may share a parent; any other message that does not follow the last one begins a branch. */
function noteCourse({ by, id, parentId, subAgent, startsTurn }: Message, state: Known): void {
  if (subAgent !== undefined) return
  if (by === 'injected' && startsTurn) state.unsure = true
  const follows = by === 'agent' || by === 'tool' || state.last === undefined || parentId === state.last
  if (typeof parentId === 'string' && !follows) state.unsure = true
  if (id !== undefined && parentId !== undefined) state.last = id
}

function noteEnd({ by, ends, startsTurn, at, cwd }: Message, sessionId: string, state: Known): void {
  if (ends) state.ended = present<Ended>({ end: ends, sessionId, at, cwd })
  else if (by === 'agent' || by === 'tool' || startsTurn) delete state.ended
}

function nameless({ text }: Line, place: number): string {
  return hash('sha256', `${place} ${text}`, 'base64url').slice(0, 22)
}

export type Session = Omit<SessionFact, 'kind'>

/** Later lines are right about everything but the beginning. The same object where a line tells nothing new. */
export function learn(session: Session, { kind: _, ...told }: SessionFact): Session {
  if (session.startedAt !== undefined) delete told.startedAt
  const isKnown = Object.entries(told).every(([key, value]) => session[key as keyof Session] === value)
  return isKnown ? session : { ...session, ...told }
}

/** Changes the message: lines that do not say where they belong belong where the session is. */
export function placeIn({ subAgent, cwd, branch, model }: Session, message: Message): Message {
  if (subAgent !== undefined) message.subAgent ??= subAgent
  if (cwd !== undefined) message.cwd ??= cwd
  if (branch !== undefined) message.branch ??= branch
  if (model !== undefined && message.by === 'agent') message.model ??= model
  message.by = speaker(message.by, message.subAgent)
  return message
}

export const HEAD_CHARS = 2_000
/** To look a text through for credentials takes twenty times its size in memory. */
export const INDEXED_CHARS = 1_000_000

export function indexedText({ text, toolCalls, toolResults }: Message): string {
  const parts = [text, ...toolCalls.map(({ input }) => head(input)), ...toolResults.map((result) => head(result.text))]
  const said = parts.filter((part) => part !== '').join('\n')
  return head(said, INDEXED_CHARS)
}

/** Cuts between words: half a character is invalid, and half a credential is not recognised. */
export function head(text: string, chars: number = HEAD_CHARS): string {
  if (text.length <= chars) return text
  let end = chars
  while (end > 0 && !isApart(text, end)) end--
  return text.slice(0, end)
}

function isApart(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  if (before >= 0xd800 && before <= 0xdbff) return false
  return isOther(before) || isOther(text.charCodeAt(at)) || /(?<!\\)"[,:}\]]$/.test(text.slice(Math.max(0, at - 3), at))
}

function isOther(code: number): boolean {
  return code <= 0x20 || code >= 0x7f
}

export function textAt(harness: string, line: string): string {
  const [message] = messagesAt(harness, line)
  return message ? indexedText(message) : ''
}

export function messagesAt(harness: string, line: string): Message[] {
  return adapterFor(harness)
    .read(line)
    .filter((fact) => fact.kind === 'message')
}

const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** Counts over a session include what was there before, as in a fork: that is subtracted. */
export function usageOf(messages: readonly Message[], before: Usage | undefined = inherited(messages)): Usage {
  const total = lastTotal(messages)
  if (total) return combine(total, before ?? NO_USAGE, (all, part) => Math.max(0, all - part))
  const answers = new Map<unknown, Usage>()
  for (const message of messages) if (message.usage) answers.set(message.answerId ?? message, message.usage)
  return [...answers.values()].reduce((sum, usage) => combine(sum, usage, (a, b) => a + b), NO_USAGE)
}

export function lastTotal(messages: readonly Message[]): Usage | undefined {
  return messages.findLast(({ total }) => total)?.total?.usage
}

function inherited(messages: readonly Message[]): Usage | undefined {
  const first = messages.find(({ total }) => total)?.total
  return first && combine(first.usage, first.last, (all, part) => Math.max(0, all - part))
}

function combine(a: Usage, b: Usage, how: (a: number, b: number) => number): Usage {
  return {
    input: how(a.input, b.input),
    output: how(a.output, b.output),
    cacheRead: how(a.cacheRead, b.cacheRead),
    cacheWrite: how(a.cacheWrite, b.cacheWrite),
  }
}
