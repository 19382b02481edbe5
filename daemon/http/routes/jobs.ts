/** Jobs: what is due, what runs, what became of it. */
import type { JobList, OneJob } from '../../../schema/job.ts'
import { onlyPeople } from '../caller.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  list(query: { state?: string | undefined; limit?: number | undefined; after?: number | undefined }): JobList
  one(id: string): OneJob
  kill(id: string): OneJob
  retry(id: string): OneJob
}

export function jobRoutes({ list, one, kill, retry }: Deps): Pick<Handlers, 'jobs' | 'job' | 'killJob' | 'retryJob'> {
  return {
    jobs: ({ query }) => list(query),
    job: ({ params }) => one(params.id),
    killJob: ({ params }) => kill(params.id),
    retryJob: ({ params, caller }) => {
      // What was given up after three failures is begun again by newer input, or by a person.
      onlyPeople(caller)
      return retry(params.id)
    },
  }
}
