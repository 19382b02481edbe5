import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { Cwd, Harness, SessionId } from './values.ts'

const Messages = z
  .array(z.looseObject({}))
  .max(100_000)
  .describe(
    'As the Messages API has them; each may carry an `id`. What it does not know is left out, what is broken is mended',
  )

const count = z.int().min(0).max(1_000_000_000)
const Usage = z
  .looseObject({
    input_tokens: count.nullish(),
    cache_read_input_tokens: count.nullish(),
    cache_creation_input_tokens: count.nullish(),
    output_tokens: count.nullish(),
  })
  .describe('As the last response told it')

const tokens = z.int()

export const MeasureRequest = z.strictObject({
  model: z.string().min(1).max(256),
  messages: Messages,
  usage: Usage.optional(),
  betas: z.array(z.string().max(256)).max(100).optional(),
})
export type MeasureRequest = z.infer<typeof MeasureRequest>

const levels = <T extends z.ZodType>(of: T) => z.object({ warning: of, error: of, autoCompact: of, blocked: of })

export const Measured = z
  .object({
    tokens,
    breakdown: z
      .object({
        user: tokens,
        assistant: tokens,
        toolRequests: tokens,
        toolResults: tokens,
        attachments: tokens,
        duplicateReads: tokens.describe('Of the tool results: what was read again later'),
      })
      .describe('Estimates of what is in the messages, without the third that a pure estimate is taken higher'),
    window: tokens,
    effective: tokens.describe('The window without the room for a summary'),
    thresholds: levels(tokens),
    percentLeft: z.number(),
    states: levels(z.boolean()),
    resultLimits: z
      .object({ chars: z.int(), charsPerMessage: z.int() })
      .describe('No result of a tool that is shorter is kept in a file, nor any of a message with less'),
  })
  .describe('How full a context is')
export type Measured = z.infer<typeof Measured>

const MicrocompactForm = z.enum(['auto', 'time', 'size', 'api', 'cached'])

export const MicrocompactRequest = MeasureRequest.extend({
  sessionId: SessionId,
  harness: Harness,
  form: MicrocompactForm.default('auto').describe('auto: by time where that is on and due, else by size'),
  lastAssistantAt: z.iso.datetime().optional().describe('When the last answer came; else the time its message carries'),
  thinking: z.enum(['one', 'all']).default('one').describe('With `api`: how many turns keep their thoughts'),
  fork: z.boolean().default(false).describe('No main conversation: nothing is planned for it with `cached`'),
})
export type MicrocompactRequest = z.infer<typeof MicrocompactRequest>

export const Microcompacted = z
  .object({
    form: MicrocompactForm.describe('Which was used'),
    messages: z.array(z.looseObject({})).optional().describe('Where something was cleared in them'),
    contextManagement: z
      .object({ edits: z.array(z.looseObject({ type: z.string() })) })
      .optional()
      .describe('For the field context_management of a request'),
    cleared: z
      .array(z.string())
      .describe('Ids of tool uses; what was cleared here, by time or size, GET /v1/tool-results has'),
    tokensBefore: tokens,
    tokensAfter: tokens,
  })
  .describe('Old results of tools cleared, or what a server is to be asked for')
export type Microcompacted = z.infer<typeof Microcompacted>

const ResultContent = z.union([z.string(), z.array(z.looseObject({})).max(1_000)])
const ToolUseId = z.string().min(1).max(512)

export const ToolResultsRequest = z.strictObject({
  sessionId: SessionId,
  harness: Harness,
  messageId: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('Results of one message that come in several calls share it'),
  results: z
    .array(z.strictObject({ toolUseId: ToolUseId, tool: z.string().min(1).max(256), content: ResultContent }))
    .max(1_000)
    .describe('Those of one message'),
})
export type ToolResultsRequest = z.infer<typeof ToolResultsRequest>

export const ToolResultsKept = z
  .object({
    results: z.array(
      z.object({
        toolUseId: z.string(),
        stored: z.boolean(),
        content: z
          .union([z.string(), z.array(z.looseObject({}))])
          .describe('What goes into the context, the same bytes each time'),
        path: z.string().optional(),
      }),
    ),
  })
  .describe('What goes into the context of each result; long ones are kept in files')
export type ToolResultsKept = z.infer<typeof ToolResultsKept>

const Place = z
  .string()
  .regex(/^\d{1,10}$/)
  .transform(Number)
export const ToolResultPiece = z
  .object({
    toolUseId: z.string(),
    content: z.string(),
    from: z.int(),
    to: z.int(),
    chars: z.int().describe('Of all of it'),
  })
  .describe('A result that is kept, or a part of it, without credentials and what is marked as private')
export type ToolResultPiece = z.infer<typeof ToolResultPiece>

const Entry = z.union([z.string(), z.looseObject({})])
const Restore = z.strictObject({
  files: z
    .array(z.string().max(4096))
    .max(1_000)
    .optional()
    .describe('Read lately, newest first; else those the messages tell of'),
  skills: z
    .array(z.strictObject({ name: z.string().max(256), content: z.string() }))
    .max(200)
    .optional()
    .describe('Newest first'),
  todos: z.array(Entry).max(1_000).optional(),
  plan: z
    .union([z.string(), z.strictObject({ path: z.string().max(4096), content: z.string().optional() })])
    .optional(),
  tasks: z.array(Entry).max(200).optional().describe('What runs in the background, and how far it is'),
  sticky: z
    .array(z.string())
    .max(200)
    .optional()
    .describe('Whatever else must be there: schemas of tools, lists of agents'),
})
export type Restore = z.infer<typeof Restore>

export const CompactRequest = MeasureRequest.extend({
  sessionId: SessionId,
  harness: Harness,
  cwd: Cwd,
  messages: Messages.optional().describe('Without them the transcript of the session is read'),
  trigger: z.enum(['auto', 'manual']),
  instructions: z.string().max(20_000).optional().describe('What the summary should emphasise'),
  partial: z
    .strictObject({
      direction: z.enum(['from', 'up_to']).describe('from: the message and all after it; up_to: all before it'),
      messageId: z.string().min(1).max(512),
    })
    .optional(),
  restore: Restore.optional(),
  preview: z.boolean().default(false).describe('Nothing is noted of it: the session goes on as it is'),
})
export type CompactRequest = z.infer<typeof CompactRequest>

export const Boundary = z.object({
  type: z.literal('compact_boundary'),
  trigger: z.enum(['auto', 'manual']),
  tokensBefore: tokens,
  lastMessageId: z
    .string()
    .nullable()
    .describe('The last message before it; its place, as #12, where messages have no id'),
  discoveredTools: z.array(z.string()),
  preserved: z
    .object({ head: z.string(), anchor: z.string(), tail: z.string() })
    .optional()
    .describe('What stayed as it was: its first and last message, and the one it hangs on'),
})
export type Boundary = z.infer<typeof Boundary>

export const Compacted = z
  .object({
    strategy: z.enum(['notes', 'full', 'extractive']),
    messages: z.array(z.looseObject({})),
    summary: z.string(),
    boundary: Boundary,
    kept: z.int().describe('How many messages stayed as they were'),
    restored: z.array(
      z.object({ kind: z.enum(['file', 'skill', 'todos', 'plan', 'tasks', 'sticky']), name: z.string(), tokens }),
    ),
    supplemented: z.int().describe('How many things the summary had left out and were added to it'),
    tokensBefore: tokens,
    tokensAfter: tokens,
  })
  .describe('A conversation that fits again')
export type Compacted = z.infer<typeof Compacted>

export const contextRoutes = {
  measureContext: { summary: 'How full a context is, and what that means', body: MeasureRequest, answer: Measured },
  microcompact: {
    summary: 'Clear old results of tools, without a model',
    body: MicrocompactRequest,
    answer: Microcompacted,
  },
  compact: {
    summary: 'Make a conversation fit again: from its notes, by a model, or without one',
    body: CompactRequest,
    answer: Compacted,
    errors: ['CONFLICT'],
  },
  keepToolResults: {
    summary: 'Results of tools: long ones are kept in files, and what goes into the context is decided once',
    body: ToolResultsRequest,
    answer: ToolResultsKept,
    errors: ['REFUSED'],
    kept: ['harness'],
  },
  toolResult: {
    summary: 'A result that is kept, or a part of it',
    params: z.strictObject({ session: SessionId, id: ToolUseId }),
    query: z.strictObject({
      harness: Harness,
      from: Place.optional().describe('The first character; 0 by default'),
      to: Place.optional().describe('The first one that is not wanted any more'),
    }),
    answer: ToolResultPiece,
  },
} satisfies RouteGroup
