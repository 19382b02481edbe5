import { z } from 'zod'
import { Amount } from './amount.ts'
import { Cwd } from './memory.ts'

/** A session is a harness and an id. */
export const SessionId = z.string().min(1).max(4096).describe('As the harness names the session')
export const Harness = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .default('generic')
  .describe('The program that runs the session')

export const Session = z.object({
  id: z.string(),
  harness: z.string(),
  cwd: z.string().optional().describe('Where it began; absent when its transcript does not say'),
  project: z.string().optional().describe('The root of the project it began in'),
  startedAt: z.iso.datetime().optional(),
  lastAt: z.iso.datetime().optional(),
  turns: z.int(),
  tokens: z.int().describe('Of all answers, what came from a cache included'),
  parentId: z.string().optional().describe('The session it was forked from'),
  gone: z.boolean().describe('The harness deleted its transcript'),
})
export type Session = z.infer<typeof Session>

export const SessionList = z
  .object({ items: z.array(Session), next: z.string().optional() })
  .describe('Last used first')
export type SessionList = z.infer<typeof SessionList>

const SessionTurn = z.object({
  startedAt: z.iso.datetime().optional(),
  endedAt: z.iso.datetime().optional(),
  end: z.enum(['final', 'aborted', 'open']),
  startedBy: z.enum(['person', 'other']).describe('other: nobody asked, as when a task was done'),
  prompt: z.string().describe('Its beginning, without credentials'),
  toolCalls: z.int(),
})

export const OneSession = Session.extend({ turnList: z.array(SessionTurn) }).describe('A session with its turns')
export type OneSession = z.infer<typeof OneSession>

export const SessionsQuery = z.strictObject({
  cwd: Cwd,
  limit: Amount.optional().describe('At most 999; 50 by default'),
  after: z
    .string()
    .regex(/^\d{1,15}\.\d{1,15}$/)
    .optional()
    .describe('Go on after a page: its `next`'),
})
export const SessionParams = z.strictObject({ id: SessionId })
export const SessionQuery = z.strictObject({
  harness: Harness.unwrap().optional().describe('Where several harnesses have a session of that id'),
})

const Notice = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  kind: z.enum(['saved', 'dream']),
  files: z.array(z.string()).describe('Names of memories'),
  text: z.string().describe('In words that can be shown'),
})
export const NoticeList = z.object({ items: z.array(Notice) }).describe('Oldest first, at most 100')
export type NoticeList = z.infer<typeof NoticeList>

export const NoticesQuery = SessionQuery.extend({
  after: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional()
    .describe('The last notice that is known already: its `id`'),
})

export const SessionNotes = z
  .object({
    content: z.string().describe('Markdown; empty where nothing is noted yet. Sections that are too long are cut'),
    tokens: z.int().describe('Estimated'),
    lastMessageId: z.string().optional().describe('The last message that the notes cover'),
    updatedAt: z.iso.datetime().optional(),
    source: z.enum(['model', 'rules']).optional().describe('Who wrote them last'),
    updatingSince: z.iso.datetime().optional().describe('They are being written anew at this moment'),
  })
  .describe('The notes of a session')
export type SessionNotes = z.infer<typeof SessionNotes>
