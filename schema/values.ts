import { z } from 'zod'

export const AbsolutePath = z
  .string()
  .startsWith('/')
  .regex(/^[^\0\p{Cs}]*$/u, 'expected a path without NUL and broken characters')
  .max(4096)

export const RowId = z.string().regex(/^\d{1,15}$/)
export const RowNumber = RowId.transform(Number)

/** How many of something, in a query: 1 to 999. */
export const Amount = z
  .string()
  .regex(/^[1-9]\d{0,2}$/)
  .transform(Number)

export const Cwd = z.string().startsWith('/').max(4096).describe('The working directory the caller is in; absolute')

export const CwdQuery = z.strictObject({ cwd: Cwd })

export const Harness = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .default('generic')
  .describe('The program that runs the session')

export const SessionId = z.string().min(1).max(4096).describe('As the harness names the session')

export const MemoryType = z.enum(['user', 'feedback', 'project', 'reference'])
export type MemoryType = z.infer<typeof MemoryType>

export const Nothing = z.object({}).describe('Done')

export const SessionParams = z.strictObject({ id: SessionId })

export const SessionQuery = z.strictObject({
  harness: Harness.unwrap().optional().describe('Where several harnesses have a session of that id'),
})
