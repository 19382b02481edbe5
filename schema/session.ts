import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { Skipped } from './memory.ts'
import { AbsolutePath, Amount, Cwd, Harness, RowNumber, SessionId, SessionParams, SessionQuery } from './values.ts'

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
  startedBy: z.enum(['person', 'other']).describe('other: no person asked, as when a task was done'),
  prompt: z.string().describe('Its beginning, without credentials'),
  toolCalls: z.int(),
})

export const OneSession = Session.extend({ turnList: z.array(SessionTurn) }).describe('A session with its turns')
export type OneSession = z.infer<typeof OneSession>

const SessionsQuery = z.strictObject({
  cwd: Cwd,
  limit: Amount.optional().describe('At most 999; 50 by default'),
  after: z
    .string()
    .regex(/^\d{1,15}\.\d{1,15}$/)
    .optional()
    .describe('Go on after a page: its `next`'),
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

/** The last request of a harness: a model goes on from it, and from what a server has cached of it. */
const HarnessRequest = z.strictObject({
  params: z
    .looseObject({ model: z.string().min(1).max(200), messages: z.array(z.looseObject({})).min(1).max(100_000) })
    .describe('The parameters of its last request, byte for byte, with the answer to it as the last message'),
  endpoint: z.url({ protocol: /^https?$/ }).describe('Where it asks'),
  fingerprint: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .describe('The first 16 hex digits of the SHA-256 of its key'),
})

export const TurnRequest = z.strictObject({
  cwd: Cwd,
  harness: Harness,
  sessionId: SessionId,
  turnId: z.string().min(1).max(512).describe('A turn that was pushed before is not taken again'),
  messages: z
    .array(z.looseObject({}))
    .max(10_000)
    .optional()
    .describe('All of the turn, in order: in the generic form, or as a model API has them, with an id or without'),
  transcriptPath: AbsolutePath.optional().describe(
    'Where the harness writes the session itself: then it is read from there, and no message is kept',
  ),
  prefix: HarnessRequest.optional().describe(
    'Used with `extraction.prefix: harness` where endpoint and key are those of the daemon; kept in memory only',
  ),
})
export type TurnRequest = z.infer<typeof TurnRequest>

const Found = z.object({
  sessionId: SessionId,
  harness: Harness,
  messageId: z.string(),
  role: z.enum(['person', 'agent', 'tool']),
  at: z.iso.datetime().nullable().describe('Null where the transcript does not say'),
  snippet: z.string().describe('One line around the first hit; credentials are taken out'),
  hits: z
    .array(z.object({ from: z.int(), to: z.int() }))
    .describe('What was asked for, as places in the snippet, in UTF-16 units'),
  path: z.string().describe('The transcript'),
  offset: z.int().describe('Where the line begins in it, in bytes'),
  length: z.int().describe('How long the line is, in bytes'),
})
export type Found = z.infer<typeof Found>

export const FoundList = z
  .object({ items: z.array(Found), skipped: Skipped })
  .describe('What was said in the sessions of the project, best first')
export type FoundList = z.infer<typeof FoundList>

const HarnessName = z.enum(['claude-code', 'codex', 'gemini', 'pi', 'generic'])
export type HarnessName = z.infer<typeof HarnessName>

const Counts = z.record(z.string(), z.int())

export const ImportProgress = z
  .object({
    dir: z.string(),
    files: z.int().describe('Files that may be transcripts'),
    bytes: z.int(),
    doneFiles: z.int(),
    doneBytes: z.int(),
    read: z.int().describe('Files in which there was something to read'),
    known: z.int().describe('Files that were read before, and had not changed'),
    left: Counts.describe('Files that were not read, by why'),
    sessions: z.int().describe('Sessions in what was read'),
    turns: z.int().describe('Turns that begin in what was read'),
    skipped: Counts.describe('Lines that could not be used, by why'),
  })
  .describe('How far an import is')
export type ImportProgress = z.infer<typeof ImportProgress>

export const sessionRoutes = {
  sessions: { summary: 'The sessions of the project', query: SessionsQuery, answer: SessionList },
  session: {
    summary: 'One session with its turns, read back from its transcript',
    params: SessionParams,
    query: SessionQuery,
    answer: OneSession,
    errors: ['CONFLICT'],
  },
  notices: {
    summary: 'What was saved of what was said in a session',
    params: SessionParams,
    query: SessionQuery.extend({
      after: RowNumber.optional().describe('The last notice that is known already: its `id`'),
    }),
    answer: NoticeList,
  },
  sessionNotes: {
    summary: 'The running summary of a session',
    params: SessionParams,
    query: SessionQuery,
    answer: SessionNotes,
    errors: ['CONFLICT'],
  },
  pushTurn: {
    summary: 'A turn that has ended, from a harness that writes no transcripts, or the transcript it stands in',
    body: TurnRequest,
    answer: z
      .object({
        jobIds: z.array(z.string()).describe('What is done about it, as far as that is known within a second'),
        prefixSkipped: z.string().optional().describe('Why the prefix is not used'),
      })
      .describe('The turn is on disk, and will be read'),
    errors: ['MEMORY_OFF', 'REFUSED'],
    kept: ['cwd', 'harness'],
  },
  importTranscripts: {
    summary: 'Read all transcripts in a folder; events of the type `job` tell how far it is',
    body: z.strictObject({
      dir: AbsolutePath.describe('A folder with transcripts, at any depth; absolute'),
      harness: HarnessName.optional().describe('Whose form all of them have; without it each file is looked at'),
    }),
    answer: z
      .object({ jobId: z.string().describe('Of the one that is already at this folder, if there is one') })
      .describe('An import that runs'),
    errors: ['REFUSED'],
  },
  search: {
    summary: 'What was said about something in the sessions of the project',
    query: z.strictObject({
      q: z
        .string()
        .min(1)
        .max(1000)
        .describe(
          'Words that must all be there, "literals" that must be there letter by letter (a quote in one is doubled), session:<id>, role:person|agent|tool, since:<date or 7d>',
        ),
      cwd: Cwd,
      limit: Amount.optional().describe('At most 999; 20 by default'),
    }),
    answer: FoundList,
    errors: ['REFUSED'],
  },
} satisfies RouteGroup
