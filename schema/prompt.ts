import { z } from 'zod'
import { Cwd, Skipped } from './memory.ts'
import { Harness, SessionId } from './session.ts'

export const PromptQuery = z.strictObject({
  cwd: Cwd,
  sessionId: SessionId.optional().describe('Given the same bytes each time, until the session is renewed'),
  harness: Harness,
})
export const MemoryPrompt = z
  .object({ text: z.string().describe('For a system prompt: how to use memory, then the index'), skipped: Skipped })
  .describe('What a harness tells its model about memory')
export type MemoryPrompt = z.infer<typeof MemoryPrompt>

export const RenewQuery = z.strictObject({ sessionId: SessionId, harness: Harness })
