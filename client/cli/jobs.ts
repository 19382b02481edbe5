/** `memoryd jobs`: what is due, what runs, and what became of it. */
import pc from 'picocolors'
import { MemoryError } from '../../schema/errors.ts'
import type { Job, JobEvent, JobState, OneJob } from '../../schema/job.ts'
import { asked, asPerson, type Context, columns } from './context.ts'

export type JobListOptions = { state?: JobState; lines: number }

export async function listJobs(context: Context, { state, lines }: JobListOptions): Promise<void> {
  const limit = asked(lines)
  const found = await asPerson(context, (client) => client.jobs({ limit, ...(state && { state }) }))
  context.print.result(found, () => {
    if (found.items.length === 0) return [state ? `no job is ${state}` : 'there are no jobs']
    return found.items.map((job) => line(context, job))
  })
}

export async function showJob(context: Context, id: string): Promise<void> {
  show(context, await asPerson(context, (client) => client.job({ id })))
}

export async function killJob(context: Context, id: string): Promise<void> {
  show(context, await asPerson(context, (client) => client.killJob({ id })))
}

export async function retryJob(context: Context, id: string): Promise<void> {
  show(context, await asPerson(context, (client) => client.retryJob({ id })))
}

/** What is not over yet, then whatever happens, until the daemon ends or is no longer listened to. */
export async function watchJobs(context: Context): Promise<void> {
  await asPerson(context, async (client) => {
    for await (const event of client.events()) {
      if (event.type === 'status' && event.change === 'connected') {
        // Asked only now: what happens from here on is told by the stream.
        const { items } = await client.jobs({ limit: '999' })
        for (const job of items.filter(({ endedAt }) => !endedAt).reverse())
          context.print.result(job, () => [line(context, job)])
      }
      if (event.type === 'job') context.print.result(event, () => [eventLine(context, event)])
    }
    throw new MemoryError('UNREACHABLE', 'the daemon stopped', { hint: `start it: ${context.self} start` })
  })
}

function show(context: Context, job: OneJob): void {
  const { id, kind, key, state, attempts, watermark, result, ...more } = job
  const told = Object.entries(more).map(([name, value]): [string, string] => [words(name), String(value)])
  context.print.result(job, () => [
    `${id} is ${painted(context, state)}`,
    ...columns([
      ['kind', kind],
      ['of', key],
      ['attempts', String(attempts)],
      ['up to', watermark],
      ...told,
      ...(result === undefined ? [] : [['result', JSON.stringify(result)] as [string, string]]),
    ]),
  ])
}

function line(context: Context, job: Job): string {
  const { id, key, state, createdAt, progress, error } = job
  const why = progress ?? (state === 'done' ? undefined : error)
  return oneLine(`${time(createdAt)}  ${painted(context, state)}  ${id}  ${key}${why ? `  ${why}` : ''}`)
}

function eventLine(context: Context, { at, id, key, state, progress, error }: JobEvent): string {
  const why = progress ?? error
  return oneLine(`${time(at)}  ${painted(context, state)}  ${id}  ${key}${why ? `  ${why}` : ''}`)
}

function painted({ print }: Context, state: JobState): string {
  const paint = pc.createColors(print.colour === 'on')
  const colours = { running: paint.cyan, waiting: paint.yellow, done: paint.green, failed: paint.red } as const
  const text = state.padEnd(7)
  return state in colours ? colours[state as keyof typeof colours](text) : text
}

/** A folder may have a line break in its name: a job must not be made to look like two. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}

function time(at: string): string {
  return at.slice(0, 19).replace('T', ' ')
}

/** `startedAt` → `started at` */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
