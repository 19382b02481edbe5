/** What is known of a session while its lines go by, and what that makes of each message. Pure. */
import { speaker } from './compose.ts'
import { present } from './fields.ts'
import type { Message, SessionFact } from './message.ts'

export type Session = Omit<SessionFact, 'kind'>

/** Later lines are right about everything but the beginning. */
export function learn(session: Session, fact: SessionFact): Session {
  if (isKnown(session, fact)) return session
  const { kind: _, ...told } = fact
  return { ...session, ...told, ...present<Session>({ startedAt: session.startedAt ?? told.startedAt }) }
}

/** Line after line tells the same of its session. */
function isKnown(session: Session, told: SessionFact): boolean {
  return (
    (told.sessionId ?? session.sessionId) === session.sessionId &&
    (told.subAgent ?? session.subAgent) === session.subAgent &&
    (told.forkOf ?? session.forkOf) === session.forkOf &&
    (told.cwd ?? session.cwd) === session.cwd &&
    (told.branch ?? session.branch) === session.branch &&
    (told.model ?? session.model) === session.model &&
    (session.startedAt ?? told.startedAt) === session.startedAt &&
    (told.interactive ?? session.interactive) === session.interactive
  )
}

/** Lines that do not say where they belong belong where the session is. */
export function inSession(session: Session, message: Message): Message {
  return placeIn(session, { ...message })
}

/** The same without a copy, for whoever made the message. */
export function placeIn({ subAgent, cwd, branch, model }: Session, message: Message): Message {
  if (subAgent !== undefined) message.subAgent ??= subAgent
  if (cwd !== undefined) message.cwd ??= cwd
  if (branch !== undefined) message.branch ??= branch
  if (model !== undefined && message.by === 'agent') message.model ??= model
  message.by = speaker(message.by, message.subAgent)
  return message
}
