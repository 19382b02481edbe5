import { z } from 'zod'
import { Amount } from './amount.ts'
import { ImportProgress } from './import.ts'

const JobState = z
  .enum(['queued', 'running', 'waiting', 'done', 'failed', 'killed'])
  .describe('waiting: for a model, the next day, or room on the disk; failed: not tried again by itself')
export type JobState = z.infer<typeof JobState>

const Job = z.object({
  id: z.string(),
  kind: z.string().describe('What it does'),
  key: z.string().describe('What it does it to: no two jobs of a kind are at the same'),
  state: JobState,
  attempts: z.int(),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().optional(),
  endedAt: z.iso.datetime().optional(),
  dueAt: z.iso.datetime().optional().describe('When it is to run, if that is not as soon as it can'),
  error: z.string().optional().describe('Why the last run failed, or what it waits for'),
  runId: z.string().optional().describe('The run in the journal'),
  progress: z.string().optional(),
  truncated: z.boolean().optional().describe('It reached its limit and did what it could'),
  trailing: z.boolean().optional().describe('More became due while it ran: another run follows'),
  followedBy: z.string().optional().describe('The job that does what became due while this one ran'),
})
export type Job = z.infer<typeof Job>

export const JobList = z.object({ items: z.array(Job), next: z.string().optional() }).describe('Newest first')
export type JobList = z.infer<typeof JobList>

export const OneJob = Job.extend({
  watermark: z.string().describe('How far its input goes'),
  result: z.unknown().optional(),
}).describe('A job with what came of it')
export type OneJob = z.infer<typeof OneJob>

export const JobsQuery = z.strictObject({
  state: JobState.optional(),
  limit: Amount.optional().describe('At most 999; 50 by default'),
  after: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .optional()
    .describe('Go on after a page: its `next`'),
})
export const JobParams = z.strictObject({ id: z.string().min(1).max(200) })

export const JobCounts = z
  .object({ queued: z.int(), waiting: z.int(), running: z.int(), failed: z.int() })
  .describe('failed: and nothing newer of its kind and key')
export type JobCounts = z.infer<typeof JobCounts>

export const JobEvent = z.object({
  type: z.literal('job'),
  at: z.iso.datetime(),
  id: z.string(),
  kind: z.string(),
  key: z.string(),
  state: JobState,
  error: z.string().optional(),
  runId: z.string().optional(),
  progress: z.string().optional(),
  import: ImportProgress.optional().describe('How far an import is, in numbers'),
})
export type JobEvent = z.infer<typeof JobEvent>
