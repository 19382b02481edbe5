/** The commands about jobs, as the command line declares them. */
import { type Command, Option } from 'commander'
import type { JobState } from '../../schema/job.ts'
import type { Context } from './context.ts'
import type { JobListOptions } from './jobs.ts'

const states: readonly JobState[] = ['queued', 'running', 'waiting', 'done', 'failed', 'killed']

export function addJobCommands(program: Command, context: () => Context, wholeNumber: (text: string) => number): void {
  const acting = () => import('./jobs.ts')
  const jobs = program
    .command('jobs')
    .description('what the daemon has to do, does and did by itself')
    .addHelpText(
      'after',
      `
Examples:
  memoryd jobs                       the newest, with what they wait for or failed of
  memoryd jobs list --state failed
  memoryd jobs watch                 live, until Ctrl-C
  memoryd jobs show housekeeping-0a1b2c3d4e5f
  memoryd jobs kill housekeeping-0a1b2c3d4e5f
  memoryd jobs retry housekeeping-0a1b2c3d4e5f   one that was given up, killed, or waits`,
    )
  jobs
    .command('list', { isDefault: true })
    .description('the newest jobs')
    .addOption(new Option('--state <state>', 'only those').choices(states))
    .option('-n, --lines <count>', 'how many', wholeNumber, 20)
    .action(async (options: JobListOptions) => (await acting()).listJobs(context(), options))
  jobs
    .command('show <id>')
    .description('one job with what came of it')
    .action(async (id: string) => (await acting()).showJob(context(), id))
  jobs
    .command('watch')
    .description('what happens to jobs, as it happens')
    .action(async () => (await acting()).watchJobs(context()))
  jobs
    .command('kill <id>')
    .description('stop a job, or keep it from starting')
    .action(async (id: string) => (await acting()).killJob(context(), id))
  jobs
    .command('retry <id>')
    .description('try a job again now')
    .action(async (id: string) => (await acting()).retryJob(context(), id))
}
