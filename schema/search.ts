import { z } from 'zod'
import { Amount } from './amount.ts'
import { Cwd, Skipped } from './memory.ts'
import { Harness, SessionId } from './session.ts'

export const SearchQuery = z.strictObject({
  q: z
    .string()
    .min(1)
    .max(1000)
    .describe(
      'Words that must all be there, "literals" that must be there letter by letter (a quote in one is doubled), session:<id>, role:person|agent|tool, since:<date or 7d>',
    ),
  cwd: Cwd,
  limit: Amount.optional().describe('At most 999; 20 by default'),
})

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
