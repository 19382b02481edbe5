import { z } from 'zod'
import { Cwd, ForgetQuery, MemoryFile, Skipped } from './memory.ts'

const AgentType = z.string().min(1).max(512).describe('The type of the sub-agent; a colon counts as a hyphen')
const Scope = z.enum(['user', 'project', 'local']).describe('Whom it serves: every project, this one, or this one here')

export type AgentScope = z.infer<typeof Scope>
/** A type of sub-agent, and which of its memories. */
export type Agent = { type: string; scope: AgentScope }

export const AgentParams = z.strictObject({ type: AgentType })
export const AgentFileParams = z.strictObject({ type: AgentType, file: MemoryFile })
export const AgentQuery = z.strictObject({ cwd: Cwd, scope: Scope })
export const AgentForgetQuery = ForgetQuery.extend({ scope: Scope })

export const AgentMemory = z
  .object({
    text: z.string().describe("For the agent's system prompt, with the whole index"),
    dir: z.string(),
    skipped: Skipped,
  })
  .describe("A sub-agent's own memory")
export type AgentMemory = z.infer<typeof AgentMemory>
