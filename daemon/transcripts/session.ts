/** What is known of a session while its lines go by, and what that makes of each message. Pure. */
import { speaker } from './compose.ts'
import { present } from './fields.ts'
import type { Message, SessionFact } from './message.ts'

export type Session = Omit<SessionFact, 'kind'>

/** Later lines are right about everything but the beginning. */
export function learn(session: Session, { kind: _, ...told }: SessionFact): Session {
  return { ...session, ...told, ...present<Session>({ startedAt: session.startedAt ?? told.startedAt }) }
}

/** Lines that do not say where they belong belong where the session is. */
export function inSession({ subAgent, cwd, branch, model }: Session, message: Message): Message {
  const placed = { ...message }
  if (subAgent !== undefined) placed.subAgent ??= subAgent
  if (cwd !== undefined) placed.cwd ??= cwd
  if (branch !== undefined) placed.branch ??= branch
  if (model !== undefined && message.by === 'agent') placed.model ??= model
  placed.by = speaker(message.by, placed.subAgent)
  return placed
}
