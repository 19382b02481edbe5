import { z } from 'zod'
import { Cwd } from './memory.ts'
import { Harness, SessionId } from './session.ts'

/** What begins with `session:` or is `*` is an address of another form. */
export const AgentName = z
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
