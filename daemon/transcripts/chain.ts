/** Which messages are the conversation as it stands: without what was rewound, forked away or left by another writer. Pure. */
import type { Fact, Message, Rewound } from './message.ts'
import { inSession, learn, type Session } from './session.ts'

/** Whose: that of the session or of the sub-agent the transcript is of, unless one is named. */
export type Of = {
  subAgent?: string
  /** What is known before the first line, as from the path. */
  session?: Session
}

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
    all[place] = inSession(session, fact)
  }
  return { session, all }
}

/** A message that was never seen takes nothing with it. */
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
