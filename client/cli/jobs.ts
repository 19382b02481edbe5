/** `memoryd jobs`: what is due, what runs, and what became of it. */
import pc from 'picocolors'
import { MemoryError } from '../../schema/errors.ts'
import type { Job, JobEvent, JobState } from '../../schema/job.ts'
import { asked, asUser, type Context, columns } from './context.ts'

export async function listJobs(context: Context, options: { state?: JobState; lines: number }): Promise<void> {
  const { state } = options
  const limit = asked(options.lines)
  const found = await asUser(context, (client) => client.jobs({ limit, state }))
  context.print.result(found, () => {
    if (found.items.length === 0) return [state ? `no job is ${state}` : 'there are no jobs']
    return found.items.map((job) => line(context, job.createdAt, job))
  })
}

const actOnJob = (act: 'job' | 'killJob' | 'retryJob') => async (context: Context, id: string) => {
  const job = await asUser(context, (client) => client[act]({ id }))
  const { kind, key, state, attempts, watermark, result, ...more } = job
  const rest = Object.entries(more).filter(([name]) => name !== 'id')
  context.print.result(job, () => [
    `${job.id} is ${painted(context, state)}`,
    ...columns([
      ['kind', kind],
      ['of', key],
      ['attempts', String(attempts)],
      ['up to', watermark],
      ...rest.map(([name, value]): [string, string] => [
        name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
        String(value),
      ]),
      ...(result === undefined ? [] : [['result', JSON.stringify(result)] as [string, string]]),
    ]),
  ])
}

export const showJob = actOnJob('job')
export const killJob = actOnJob('killJob')
export const retryJob = actOnJob('retryJob')

export async function watchJobs(context: Context): Promise<void> {
  await asUser(context, async (client) => {
    for await (const event of client.events()) {
      if (event.type === 'status' && event.change === 'connected') {
        // Asked only now: from here on the stream has every change.
        const { items } = await client.jobs({ limit: '999' })
        for (const job of items.filter(({ endedAt }) => !endedAt).reverse())
          context.print.result(job, () => [line(context, job.createdAt, job)])
      }
      if (event.type === 'job') context.print.result(event, () => [line(context, event.at, event)])
    }
    throw new MemoryError('UNREACHABLE', 'the daemon stopped', { hint: `start it: ${context.self} start` })
  })
}

/** A job or a change of one. A folder in it may have a line break in its name: the job must not look like two. */
function line(context: Context, at: string, { id, key, state, progress, error }: Job | JobEvent): string {
  const why = progress ?? (state === 'done' ? undefined : error)
  const text = `${at.slice(0, 19).replace('T', ' ')}  ${painted(context, state)}  ${id}  ${key}${why ? `  ${why}` : ''}`
  return text.replaceAll(/[\r\n]+/g, ' ')
}

function painted({ print }: Context, state: JobState): string {
  const paint = pc.createColors(print.colour === 'on')
  const colours = { running: paint.cyan, waiting: paint.yellow, done: paint.green, failed: paint.red } as const
  const text = state.padEnd(7)
  return state in colours ? colours[state as keyof typeof colours](text) : text
}
