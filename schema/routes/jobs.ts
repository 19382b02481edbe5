/** Work in the background, and what it costs. */
import { CostList, CostQuery } from '../cost.ts'
import { DreamBegun, DreamQuery, DreamRequest, DreamStatus } from '../dream.ts'
import { JobList, JobParams, JobsQuery, OneJob } from '../job.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const jobRoutes = {
  jobs: {
    ...routeTable.jobs,
    summary: 'What is due, what runs, and what became of it',
    query: JobsQuery,
    answer: JobList,
    errors: [],
  },
  job: { ...routeTable.job, summary: 'One job with what came of it', params: JobParams, answer: OneJob, errors: [] },
  killJob: {
    ...routeTable.killJob,
    summary: 'Stop a job, or keep it from starting',
    params: JobParams,
    answer: OneJob,
    errors: ['CONFLICT'],
  },
  retryJob: {
    ...routeTable.retryJob,
    summary: 'Try a job again now that was given up, killed, or waits',
    params: JobParams,
    answer: OneJob,
    errors: ['CONFLICT', 'REFUSED'],
  },
  dream: {
    ...routeTable.dream,
    summary: 'Put the memories of a project in order, or tell why not now',
    body: DreamRequest,
    answer: DreamBegun,
    errors: ['REFUSED'],
  },
  dreamStatus: {
    ...routeTable.dreamStatus,
    summary: 'The dream of a project that goes on, and what came of the last one',
    query: DreamQuery,
    answer: DreamStatus,
    errors: ['REFUSED'],
  },
  cost: {
    ...routeTable.cost,
    summary: 'What models have cost, by day, project or job',
    query: CostQuery,
    answer: CostList,
    errors: [],
  },
} as const satisfies RouteGroup
