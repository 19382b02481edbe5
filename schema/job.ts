import { z } from 'zod'
import type { RouteGroup } from './contract.ts'
import { DreamBegun, DreamRequest, DreamStatus } from './dream.ts'
import { Budget } from './process.ts'
import { ImportProgress } from './session.ts'
import { Amount, CwdQuery, RowNumber } from './values.ts'

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

const JobsQuery = z.strictObject({
  state: JobState.optional(),
  limit: Amount.optional().describe('At most 999; 50 by default'),
  after: RowNumber.optional().describe('Go on after a page: its `next`'),
})
const JobParams = z.strictObject({ id: z.string().min(1).max(200) })

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

const CostQuery = z.strictObject({
  by: z.enum(['day', 'project', 'job']).optional().describe('day by default'),
  days: Amount.optional().describe('How many days back, today included: at most 999, 30 by default'),
})

const Cost = z.object({
  key: z.string().describe('The local day, the root of the project, or the kind of job; empty: of no project'),
  usd: z.number(),
  input: z.int().describe('Tokens that came from no cache and went into none'),
  cacheRead: z.int(),
  cacheWrite: z.int(),
  output: z.int(),
  calls: z.int(),
  unsettled: z.int().describe('Calls whose end was not seen: they count with the most they can have cost'),
  hitPercent: z.number().nullable().describe('How much of the input came from a cache; null: there was none'),
})

export const CostList = z
  .object({
    items: z.array(Cost),
    unpriced: z.array(z.string()).describe('Models whose price is unknown: of them, tokens are counted and no dollars'),
    today: Budget,
  })
  .describe('What models have cost')
export type CostList = z.infer<typeof CostList>

export const jobRoutes = {
  jobs: { summary: 'What is due, what runs, and what became of it', query: JobsQuery, answer: JobList },
  job: { summary: 'One job with what came of it', params: JobParams, answer: OneJob },
  killJob: { summary: 'Stop a job, or keep it from starting', params: JobParams, answer: OneJob, errors: ['CONFLICT'] },
  retryJob: {
    summary: 'Try a job again now that was given up, killed, or waits',
    params: JobParams,
    answer: OneJob,
    errors: ['CONFLICT', 'REFUSED'],
  },
  dream: {
    summary: 'Put the memories of a project in order, or tell why not now',
    body: DreamRequest,
    answer: DreamBegun,
    errors: ['REFUSED'],
    kept: ['cwd'],
  },
  dreamStatus: {
    summary: 'The dream of a project that goes on, and what came of the last one',
    query: CwdQuery,
    answer: DreamStatus,
    errors: ['REFUSED'],
  },
  cost: { summary: 'What models have cost, by day, project or job', query: CostQuery, answer: CostList },
} satisfies RouteGroup
