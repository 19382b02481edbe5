import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { AgentMemory, AgentScope, ForgetQuery, Forgotten, Memory, MemoryFile, PutMemory, Written } from './memory.ts'
import { Amount, Cwd, Harness, RowNumber, SessionId } from './values.ts'

/** What begins with `session:` or is `*` is an address of another form. */
const AgentName = z
  .string()
  .regex(
    /^(?!session:)[\p{L}\p{N}][\p{L}\p{N}\p{M} ._@:+-]{0,127}$/u,
    'expected 1 to 128 letters, digits, spaces or ._@:+-, beginning with a letter or digit, and not with session:',
  )
  .describe('What others call the agent; one of a name at a time')

export const AgentRegistration = z.strictObject({
  name: AgentName,
  sessionId: SessionId,
  harness: Harness,
  cwd: Cwd,
  pid: z.int().min(1).max(2_147_483_647).describe('The agent is gone when this process is'),
  summaries: z.boolean().default(false).describe('Whether a status line is made of what the agent does'),
})
export type AgentRegistration = z.infer<typeof AgentRegistration>

export const RegisteredAgent = z
  .object({
    name: z.string(),
    sessionId: z.string(),
    harness: z.string(),
    cwd: z.string(),
    pid: z.int(),
    registeredAt: z.iso.datetime(),
    alive: z.boolean().describe('Whether its process is still there'),
    summary: z.string().optional().describe('What it is doing, in three to five words'),
  })
  .describe('An agent that registered')
export type RegisteredAgent = z.infer<typeof RegisteredAgent>

export const AgentList = z
  .object({ items: z.array(RegisteredAgent) })
  .describe('Agents that registered, the last one first; those that are gone are forgotten after 7 days')
export type AgentList = z.infer<typeof AgentList>

export const MAIL_BODY_BYTES = 65_536

export const MailKind = z
  .enum(['text', 'shutdown_request', 'shutdown_response', 'plan_approval_request', 'plan_approval_response'])
  .describe('A response names the request it answers')
export type MailKind = z.infer<typeof MailKind>

const SessionAddress = z
  .string()
  .regex(/^session:[^\p{Cc}\p{Cs}]{1,4096}$/u)
  .describe('session:<id>, whatever harness runs it')
const Address = z.union([AgentName, SessionAddress], { error: 'expected the name of an agent or session:<id>' })

export const Letter = z.strictObject({
  from: Address.describe('The name of the agent that sends, or session:<id>'),
  to: z
    .union([AgentName, SessionAddress, z.literal('*')], {
      error: 'expected the name of an agent, session:<id>, or * for all who are there',
    })
    .describe('The name of an agent, session:<id>, or * for all that are registered and there, but the sender'),
  kind: MailKind.default('text'),
  body: z.string().describe('At most 65,536 bytes; credentials are taken out'),
  summary: z.string().min(1).max(200).optional().describe('What it is about, in a few words'),
  requestId: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,128}$/, 'expected 1 to 128 of A-Z a-z 0-9 . _ : -')
    .optional()
    .describe('Of a request: its name, made up where none is given. Of a response: the request that it answers'),
  approve: z.boolean().optional().describe('Of a response: yes or no'),
})
export type Letter = z.infer<typeof Letter>

export const Sent = z
  .object({
    ids: z.array(z.string()).describe('One for each reader'),
    requestId: z.string().optional().describe('What a response to this request has to name'),
    redacted: z.array(z.string()).describe('Kinds of credentials that were taken out'),
  })
  .describe('Mail that is kept until it was read')
export type Sent = z.infer<typeof Sent>

/** Also `session:<id>`. An address that is not registered has no mail, however it is spelled. */
const MailboxParams = z.strictObject({ agent: z.string().min(1).max(4200) })

const Mail = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  from: z.string(),
  to: z.string().describe('As the sender wrote it'),
  kind: MailKind,
  body: z.string(),
  summary: z.string().optional(),
  requestId: z.string().optional(),
  approve: z.boolean().optional(),
})
export type Mail = z.infer<typeof Mail>

export const MailList = z
  .object({ items: z.array(Mail), next: z.string().optional() })
  .describe('What was not acknowledged yet, oldest first: all of it comes again until it is')
export type MailList = z.infer<typeof MailList>

export const Acknowledged = z
  .object({ ids: z.array(z.string()).describe('Those that had not been acknowledged before') })
  .describe('Mail that does not come again')
export type Acknowledged = z.infer<typeof Acknowledged>

export const MailEvent = z.object({
  type: z.literal('mail'),
  at: z.iso.datetime(),
  id: z.string(),
  from: z.string(),
  to: z.string().describe('Whose mail it is: the name of an agent, or session:<id>'),
  sessionId: z.string().optional().describe('Of the agent'),
  kind: MailKind,
  requestId: z.string().optional(),
})

const AgentType = z.string().min(1).max(512).describe('The type of the sub-agent; a colon counts as a hyphen')
const AgentFile = z.strictObject({ type: AgentType, file: MemoryFile })
const AgentQuery = z.strictObject({ cwd: Cwd, scope: AgentScope })

export const mailRoutes = {
  agents: { summary: 'The agents on this machine, as they registered', answer: AgentList },
  registerAgent: {
    summary: 'Say who one is, so that others can write to one; may be said again',
    body: AgentRegistration,
    answer: RegisteredAgent,
    errors: ['CONFLICT', 'REFUSED'],
    kept: ['name', 'sessionId', 'harness', 'cwd'],
  },
  sendMail: {
    summary: 'Write to another agent, or to all: it is kept until it was read',
    body: Letter,
    answer: Sent,
    errors: ['CONFLICT', 'REFUSED'],
    kept: ['from', 'to', 'requestId'],
  },
  mail: {
    summary: 'The mail that an agent or a session has not acknowledged yet; waits for some if asked to',
    params: MailboxParams,
    query: z.strictObject({
      wait: z
        .string()
        .regex(/^(?:[0-5]?\d|60)$/, 'expected whole seconds, at most 60')
        .transform(Number)
        .optional()
        .describe('How many seconds to wait for mail while there is none; at most 60'),
      limit: Amount.optional().describe('At most 999; 100 by default, and never more than a million bytes'),
      after: RowNumber.optional().describe('Only what came after this one: its `id`'),
    }),
    answer: MailList,
  },
  acknowledgeMail: {
    summary: 'It was read: it does not come again',
    params: MailboxParams,
    body: z.strictObject({ ids: z.array(z.string().regex(/^\d{1,15}$/, 'expected the id of a mail')).max(1000) }),
    answer: Acknowledged,
  },
  agentMemory: {
    summary: 'What a sub-agent is told about its own memory, with its index',
    params: z.strictObject({ type: AgentType }),
    query: AgentQuery,
    answer: AgentMemory,
    errors: ['REFUSED'],
    kept: ['type', 'cwd'],
  },
  agentMemoryFile: {
    summary: "One of a sub-agent's own memories",
    params: AgentFile,
    query: AgentQuery,
    answer: Memory,
    errors: ['REFUSED'],
  },
  putAgentMemory: {
    summary: "Write one of a sub-agent's own memories",
    params: AgentFile,
    query: AgentQuery,
    body: PutMemory,
    answer: Written,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['type', 'cwd'],
  },
  forgetAgentMemory: {
    summary: "Delete one of a sub-agent's own memories",
    params: AgentFile,
    query: ForgetQuery.extend({ scope: AgentScope }),
    answer: Forgotten,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
    kept: ['type', 'cwd'],
  },
} satisfies RouteGroup
