import { z } from 'zod'
import { AbsolutePath } from './path.ts'

/** Whose transcripts are understood; of others any name is taken. */
const HarnessName = z.enum(['claude-code', 'codex', 'gemini', 'pi', 'generic'])
export type HarnessName = z.infer<typeof HarnessName>

export const ImportRequest = z.strictObject({
  dir: AbsolutePath.describe('A folder with transcripts, at any depth; absolute'),
  harness: HarnessName.optional().describe('Whose form all of them have; without it each file is looked at'),
})

export const ImportBegun = z
  .object({ jobId: z.string().describe('Of the one that is already at this folder, if there is one') })
  .describe('An import that runs')
export type ImportBegun = z.infer<typeof ImportBegun>

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
