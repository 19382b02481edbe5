/** Jobs as the interface tells of them; kill and retry with their refusals in words. */
import { MemoryError } from '../../schema/errors.ts'
import type { JobList, Job as JobShown, OneJob } from '../../schema/job.ts'
import type { Job } from './job-rows.ts'
import type { JobTable } from './job-table.ts'
import type { Runner } from './runner.ts'

const PAGE = 50

type Deps = { jobs: JobTable; runner: Pick<Runner, 'kill' | 'retry' | 'progressOf'> }

export type JobAnswers = {
  list(query: { state?: string | undefined; limit?: number | undefined; after?: number | undefined }): JobList
  one(id: string): OneJob
  kill(id: string): OneJob
  retry(id: string): OneJob
}

export function createJobAnswers({ jobs, runner }: Deps): JobAnswers {
  const found = (id: string): Job => {
    const job = jobs.get(id)
    if (!job) throw new MemoryError('NOT_FOUND', `there is no job ${id}`, { hint: 'memoryd jobs lists them' })
    return job
  }
  const shown = (job: Job) => shownJob(job, runner.progressOf(job.id))
  const whole = (job: Job): OneJob => ({
    ...shown(job),
    watermark: job.watermark,
    ...(job.result !== undefined && job.result !== null && { result: job.result }),
  })
  return {
    list: ({ state, limit = PAGE, after }) => {
      const { jobs: page, next } = jobs.list({ state, limit, after })
      return { items: page.map(shown), ...(next !== undefined && { next: String(next) }) }
    },
    one: (id) => whole(found(id)),
    kill: (id) => {
      const killed = runner.kill(id)
      if (killed) return whole(killed)
      const job = found(id)
      if (job.state === 'killed') return whole(job)
      throw new MemoryError('CONFLICT', `${id} is ${job.state}: there is nothing left to kill`)
    },
    retry: (id) => {
      const answer = runner.retry(id) ?? { refused: found(id).state }
      if ('retried' in answer) return whole(answer.retried)
      if ('by' in answer)
        throw new MemoryError('CONFLICT', `${answer.by} took its place`, { hint: `memoryd jobs show ${answer.by}` })
      throw new MemoryError('CONFLICT', `${id} is ${answer.refused}: there is nothing to try again`)
    },
  }
}

function shownJob(job: Job, progress: string | undefined): JobShown {
  const { id, kind, key, state, attempts, error, runId, followedBy } = job
  const waits = (state === 'queued' || state === 'waiting') && job.readyMs > job.createdMs
  const stamps = {
    createdAt: job.createdMs,
    startedAt: job.startedMs,
    endedAt: job.endedMs,
    dueAt: waits && Number.isFinite(job.readyMs) ? job.readyMs : undefined,
  }
  const told = Object.entries(stamps).flatMap(([name, at]) =>
    at === undefined ? [] : [[name, new Date(at).toISOString()] as const],
  )
  return {
    id,
    kind,
    key,
    state,
    attempts,
    ...(Object.fromEntries(told) as Pick<JobShown, 'createdAt'>),
    ...(error !== undefined && { error }),
    ...(runId !== undefined && { runId }),
    ...(progress !== undefined && { progress }),
    ...(job.truncated && { truncated: true }),
    ...(job.trailing && { trailing: true }),
    ...(followedBy !== undefined && { followedBy }),
  }
}
