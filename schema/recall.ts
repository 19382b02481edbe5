import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { Trust } from './memory.ts'
import { Cwd, Harness, MemoryType, SessionId, SessionParams, SessionQuery } from './values.ts'

export const RecallRequest = z.strictObject({
  cwd: Cwd,
  query: z.string().max(1_000_000).describe('What the caller wants to know or do, in their own words'),
  sessionId: SessionId.optional().describe('What it was given before is not given again'),
  harness: Harness,
  mode: z
    .enum(['auto', 'local', 'model'])
    .default('auto')
    .describe('auto: a model selects where there is one and it answers in time'),
  k: z.int().min(1).max(5).optional().describe('At most so many'),
  deadlineMs: z.int().min(1).max(60_000).optional().describe('How long to wait for a model'),
  recentTools: z.array(z.string().max(200)).max(100).optional().describe('Tools in use: how they work is known'),
  readFiles: z.array(z.string().max(4096)).max(1000).optional().describe('Memories the caller has read itself'),
  explain: z.boolean().optional().describe('Tell how the memories were ranked'),
})
export type RecallRequest = z.infer<typeof RecallRequest>

const Recalled = z.object({
  file: z.string(),
  path: z.string(),
  type: MemoryType.optional(),
  ageDays: z.int(),
  trust: Trust.optional().describe('untrusted: rests only on what tools or the web said'),
  truncated: z.boolean(),
  content: z.string().describe('At most 200 lines and 4,096 bytes of the file'),
  score: z.number().describe('Of the local ranking; comparable within one answer only'),
})

const Explained = z.object({
  fit: z.number().describe('How much of the question the best memory answers to, 0 to 1'),
  enough: z.number().describe('Below this nothing is given without a model'),
  ranked: z.array(z.object({ file: z.string(), score: z.number(), fit: z.number(), words: z.array(z.string()) })),
  model: z.string().optional().describe('What became of the selection by a model'),
})

export const RecallAnswer = z
  .object({
    mode: z.enum(['local', 'model']).describe('Who selected'),
    skipped: z.enum(['off', 'short', 'budget', 'none']).optional().describe('Why there are none'),
    memories: z.array(Recalled),
    text: z.string().describe('Ready to be put into a context; empty when there is nothing'),
    bytes: z.int().describe('Of the text'),
    sessionBytes: z.int().describe('Of all texts the session was given since it began or was compacted'),
    partial: z.literal(true).optional().describe('Not all memories could be read in time: ask again'),
    explain: Explained.optional(),
  })
  .describe('Memories for a question')
export type RecallAnswer = z.infer<typeof RecallAnswer>

const TicketParams = z.strictObject({ ticket: z.string().min(1).max(128) })
const Pending = z.object({ pending: z.literal(true) })
export const Collected = z.union([RecallAnswer, Pending]).describe('What was recalled; 202 until it is ready')
export type Collected = z.infer<typeof Collected>

const Given = z.object({
  at: z.iso.datetime(),
  harness: z.string(),
  file: z.string(),
  path: z.string(),
  bytes: z.int(),
  mode: z.enum(['local', 'model']),
  counts: z.boolean().describe('Not before the session was compacted: it may be given again'),
})
export const GivenList = z
  .object({ items: z.array(Given), sessionBytes: z.int() })
  .describe('Which memories a session was given, oldest first')
export type GivenList = z.infer<typeof GivenList>

export const recallRoutes = {
  recall: {
    summary: 'The memories that help with a question, ready for a context',
    body: RecallRequest,
    answer: RecallAnswer,
    errors: ['REFUSED'],
    kept: ['cwd', 'sessionId', 'harness'],
  },
  prefetchRecall: {
    summary: 'Begin a recall, to collect it later',
    body: RecallRequest,
    answer: z.object({ ticket: z.string() }).describe('What a recall that was begun is collected with'),
    errors: ['REFUSED'],
    kept: ['cwd', 'sessionId', 'harness'],
  },
  collectRecall: {
    summary: 'What became of a recall that was begun: once, and 202 until it is ready',
    params: TicketParams,
    answer: Collected,
    errors: ['REFUSED'],
  },
  cancelRecall: {
    summary: 'Give up a recall that was begun; a model that is being asked is no longer waited for',
    params: TicketParams,
    answer: z.object({ cancelled: z.boolean().describe('False when there was nothing left to cancel') }),
  },
  recalled: {
    summary: 'Which memories a session was given',
    params: SessionParams,
    query: SessionQuery,
    answer: GivenList,
  },
} satisfies RouteGroup
