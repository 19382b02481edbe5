/** Jobs and dreams over HTTP: what is due, what runs, what became of it, and what models have cost. */
import type { Dream } from '../../dream/dream.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { Models } from '../../models/models.ts'
import { onlyUser, routeFile } from '../request.ts'

const USUAL_DAYS = 30

export const jobRoutes = (jobs: Jobs, dream: Dream, model: Models) =>
  routeFile(async () => (await import('../../../schema/job.ts')).jobRoutes, {
    jobs: ({ query }) => jobs.list(query),
    job: ({ params }) => jobs.get(params.id),
    killJob: ({ params }) => jobs.kill(params.id),
    retryJob: ({ params, caller }) => {
      // A job that was given up after three failures begins again with newer input, or when the user says so.
      onlyUser(caller)
      return jobs.retry(params.id)
    },
    dream: ({ body: { cwd, force, explain }, caller }) => dream.begin(cwd, caller, { force, explain }),
    dreamStatus: ({ query, caller }) => dream.status(query.cwd, caller),
    cost: ({ query: { by = 'day', days = USUAL_DAYS } }) => model.cost(by, days),
  })
