/** Makes rows of lines: what is stored of each message, and what is known of the session after them. Does no I/O. */
import { hash } from 'node:crypto'
import type { Adapter } from './adapter.ts'
import { present } from './fields.ts'
import { indexedText } from './indexed-text.ts'
import type { Line } from './lines.ts'
import type { End, Fact, Message, Usage } from './message.ts'
import { learn, placeIn, type Session } from './session.ts'
import type { MessageStep, Step } from './transcript-table.ts'
import { usageOf } from './usage.ts'

/** What has to be known to go on within a file; is stored with its cursor. */
export type Known = {
  session: Session
  /** Runs in a private folder: nothing of it is kept but its name. */
  hidden?: true
  /** Where the harness counts over the session: its last count. */
  counted?: Usage
  /** The conversation has gone back somewhere, or something nobody said may have begun a turn: rows alone cannot count turns. */
  unsure?: true
  /** The message that came last, where messages name their parents. */
  last?: string
  /** The turn that was read last has ended, and nobody was told. */
  ended?: Ended
}

export type Ended = { end: End; sessionId: string; at?: number; cwd?: string }

export type Digest = { steps: Step[]; broken: ReadonlyMap<string, number>; known: Known }

type Deps = {
  adapter: Adapter
  harness: string
  /** For a session that no line names. */
  unnamed: string
  projectOf: (cwd: string) => string
  isPrivate: (cwd: string) => boolean
  rowOf: RowOf
}

type Told = { line: Line; facts: Fact[] }

export function digest(lines: readonly Line[], before: Known, given: Omit<Deps, 'rowOf'>): Digest {
  const deps = { ...given, rowOf: createRows(given) }
  const told = lines.map((line): Told => ({ line, facts: deps.adapter.read(line.text) }))
  const { session, hidden } = foreseen(told, before, deps)
  const state: Known = { ...before, session }
  setHidden(state, hidden)
  const steps: Step[] = []
  const broken = new Map<string, number>()
  for (const { line, facts } of told) {
    let place = 0
    for (const fact of facts) {
      if (fact.kind === 'session') learnFrom(fact, state, deps)
      else if (fact.kind === 'broken' || fact.kind === 'unknown')
        broken.set(fact.kind, (broken.get(fact.kind) ?? 0) + 1)
      else if (fact.kind === 'rewound') steps.push(fact)
      else if (fact.kind === 'message') {
        const step = take(fact, line, place++, state, deps)
        if (step) steps.push(step)
      }
    }
  }
  return { steps, broken, known: state }
}

/** The first lines of a session may not say yet where it runs: they belong where the next ones do. */
function foreseen(
  told: readonly Told[],
  { session, hidden }: Known,
  { isPrivate }: Deps,
): Pick<Known, 'session'> & { hidden: boolean } {
  if (session.cwd !== undefined || hidden) return { session, hidden: hidden === true }
  for (const { facts } of told)
    for (const fact of facts)
      if (fact.kind === 'session' && fact.cwd !== undefined)
        return isPrivate(fact.cwd)
          ? { session: nameOf(session), hidden: true }
          : { session: { ...session, cwd: fact.cwd }, hidden: false }
  return { session, hidden: false }
}

function setHidden(state: Known, hidden: boolean): void {
  if (hidden) state.hidden = true
  else delete state.hidden
}

function learnFrom(fact: Fact & { kind: 'session' }, state: Known, { isPrivate }: Deps): void {
  state.session = learn(state.session, fact)
  if (fact.cwd === undefined) return
  setHidden(state, isPrivate(fact.cwd))
  if (state.hidden) state.session = nameOf(state.session)
}

/** All that is kept of a session in a private folder. */
function nameOf({ sessionId, subAgent }: Session): Session {
  return present<Session>({ sessionId, subAgent })
}

function take(fact: Message, line: Line, place: number, state: Known, deps: Deps): MessageStep | undefined {
  const message = placeIn(state.session, fact)
  if (message.cwd === undefined ? state.hidden : deps.isPrivate(message.cwd)) return undefined
  noteCourse(message, state)
  const sessionId = state.session.sessionId ?? deps.unnamed
  const tokens = message.total ? usageOf([message], state.counted) : message.usage
  const counted = message.total?.usage
  if (counted) state.counted = counted
  if (message.subAgent === undefined) noteEnd(message, sessionId, state)
  const text = indexedText(message)
  if (text === '' && !says(message)) return undefined
  return {
    kind: 'message',
    session: deps.rowOf(message, sessionId, state.session),
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

/** Most of what a harness notes for itself has nothing that anybody asks for. */
function says({ by, startsTurn, ends, usage, total }: Message): boolean {
  if (by === 'person' || by === 'agent' || by === 'tool') return true
  return (startsTurn ?? ends ?? usage ?? total) !== undefined
}

type RowOf = (message: Message, id: string, session: Session) => MessageStep['session']

/** The same object for message after message of which the same is told: whoever gets it has to look at it once. */
function createRows({ harness, projectOf }: Pick<Deps, 'harness' | 'projectOf'>): RowOf {
  let last: { session: Session; row: MessageStep['session'] } | undefined
  return (message, id, session) => {
    const { cwd } = message
    const cwdOf = message.subAgent === undefined ? 'session' : 'sub-agent'
    const isSame = last?.session === session && last.row.id === id && last.row.cwd === cwd && last.row.cwdOf === cwdOf
    if (last && isSame) return last.row
    const row: MessageStep['session'] = {
      harness,
      id,
      forkOf: session.forkOf,
      cwd,
      project: cwd === undefined ? undefined : projectOf(cwd),
      cwdOf,
      branch: session.branch,
      startedAt: session.startedAt,
      interactive: session.interactive,
    }
    last = { session, row }
    return row
  }
}

/** Results and the parts of an answer stand beside each other; whatever else does not follow the last one leaves it aside. */
function noteCourse({ by, id, parentId, subAgent, startsTurn }: Message, state: Known): void {
  if (subAgent !== undefined) return
  if (by === 'injected' && startsTurn) state.unsure = true
  const follows = by === 'agent' || by === 'tool' || state.last === undefined || parentId === state.last
  if (typeof parentId === 'string' && !follows) state.unsure = true
  if (id !== undefined && parentId !== undefined) state.last = id
}

/** As in a list of turns: an end is taken back when the agent goes on. */
function noteEnd({ by, ends, startsTurn, at, cwd }: Message, sessionId: string, state: Known): void {
  if (ends) state.ended = present<Ended>({ end: ends, sessionId, at, cwd })
  else if (by === 'agent' || by === 'tool' || startsTurn) delete state.ended
}

function nameless({ text }: Line, place: number): string {
  return hash('sha256', `${place} ${text}`, 'base64url').slice(0, 22)
}
