/** What the command line declares, apart from the commands about memories. What a command does is imported when it runs. */
import { tmpdir } from 'node:os'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { JobState } from '../../schema/job.ts'
import { logLevels } from '../../schema/log-line.ts'
import type { ConnectOptions } from './connect/connect.ts'
import { type Context, wrongUsage } from './context.ts'
import type { PauseOptions } from './daemon.ts'

export type MakeContext = (env?: NodeJS.ProcessEnv) => Context

const harnesses = ['claude-code', 'codex', 'gemini', 'pi', 'mcp'] as const
const jobStates: readonly JobState[] = ['queued', 'running', 'waiting', 'done', 'failed', 'killed']

export const declaring =
  (parent: Command) =>
  (usage: string, description: string, ...examples: string[]): Command => {
    const command = parent.command(usage).description(description).hook('preAction', refuseEmpty)
    command.showHelpAfterError(`run: memoryd ${parent.parent ? `${parent.name()} ` : ''}${command.name()} --help`)
    if (examples.length === 0) return command
    return command.addHelpText('after', ['\nExamples:', ...examples.map((line) => `  ${line}`)].join('\n'))
  }

/** Most likely a variable that is not set; it must not mean the current folder. */
function refuseEmpty(command: Command): void {
  if ([...command.args, ...Object.values(command.opts())].includes(''))
    throw wrongUsage('an argument is empty', 'leave it out, or fill it in')
}

export const runner =
  (context: MakeContext) =>
  (load: () => Promise<(context: Context, ...parsed: never[]) => unknown>) =>
  async (...parsed: unknown[]): Promise<void> => {
    await (await load())(context(), ...(parsed as never[]))
  }

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('expected a whole number')
  return Number(text)
}

export function addDaemonCommands(program: Command, context: MakeContext): void {
  const command = declaring(program)
  const run = runner(context)
  command('serve', 'run the daemon in the foreground', 'memoryd serve          Ctrl-C stops it in order').action(
    run(async () => (await import('./daemon.ts')).serve),
  )
  command(
    'start',
    'start the daemon in the background and wait until it answers',
    'memoryd start',
    'memoryd start --json | jq -r .socket',
  ).action(run(async () => (await import('./daemon.ts')).start))
  command('stop', 'stop the daemon and wait until it is gone', 'memoryd stop').action(
    run(async () => (await import('./daemon.ts')).stop),
  )
  command('restart', 'stop it if it runs, then start it', 'memoryd restart        after an upgrade').action(
    run(async () => (await import('./daemon.ts')).restart),
  )
  command('status', 'how the daemon is doing', 'memoryd status', 'memoryd status --json | jq .reasons').action(
    run(async () => (await import('./status.ts')).status),
  )
  command('logs', "show the daemon's log", 'memoryd logs -n 200 --level warn', 'memoryd logs -f --json')
    .option('-f, --follow', 'keep showing what is added')
    .option('-n, --lines <count>', 'how many lines to begin with', wholeNumber, 50)
    .addOption(new Option('--level <level>', 'leave out what is less important').choices(Object.keys(logLevels)))
    .action(run(async () => (await import('./status.ts')).logs))
  command(
    'doctor',
    'find out what is wrong and what to do about it',
    'memoryd doctor',
    'memoryd stop && memoryd doctor --restore && memoryd start',
  )
    .option('--restore [backup]', 'put a backup of history.db in place (the newest sound one); stop the daemon first')
    .action(run(async () => (await import('./doctor.ts')).doctor))
  command(
    'cost',
    'what models have cost, and how much of it a cache has saved',
    'memoryd cost',
    'memoryd cost --by job --days 7',
    'memoryd cost --json | jq .today',
  )
    .addOption(new Option('--by <what>', 'one line for each').choices(['day', 'project', 'job']).default('day'))
    .option('--days <count>', 'how many days back, today included', wholeNumber, 30)
    .action(run(async () => (await import('./status.ts')).cost))
  command(
    'compact <session>',
    'print the summary that a session would get; it goes on as it is',
    'memoryd compact 1f0c',
    'memoryd compact 1f0c --instructions "mind the failing tests"',
  )
    .option('--harness <name>', 'where several harnesses have a session of that id')
    .option('--model <name>', 'whose window it has to fit', 'claude-sonnet-5-5')
    .option('--instructions <text>', 'what the summary should emphasise')
    .action(run(async () => (await import('./sessions.ts')).compact))
  for (const to of ['pause', 'resume'] as const)
    command(
      to,
      to === 'pause' ? 'stop capturing and recalling' : 'capture and recall again',
      `memoryd ${to}`,
      `memoryd ${to} --project ~/work/secret`,
    )
      .option('--project [folder]', 'only in the project of this folder')
      .action(async (options: PauseOptions) => (await import('./daemon.ts')).setPaused(context(), to, options))
}

export function addJobCommands(program: Command, context: MakeContext): void {
  const command = declaring(program)
  const run = runner(context)
  const loadJobs = () => import('./jobs.ts')
  const jobs = command(
    'jobs',
    'what the daemon has to do, does and did by itself',
    'memoryd jobs                       the newest, with why they wait or failed',
    'memoryd jobs list --state failed',
    'memoryd jobs watch                 live, until Ctrl-C',
    'memoryd jobs show housekeeping-0a1b2c3d4e5f',
    'memoryd jobs kill housekeeping-0a1b2c3d4e5f',
    'memoryd jobs retry housekeeping-0a1b2c3d4e5f   one that was given up, killed, or waits',
  )
  jobs
    .command('list', { isDefault: true })
    .showHelpAfterError('run: memoryd jobs --help')
    .description('the newest jobs')
    .addOption(new Option('--state <state>', 'only jobs in this state').choices(jobStates))
    .option('-n, --lines <count>', 'how many', wholeNumber, 20)
    .action(run(async () => (await loadJobs()).listJobs))
  const job = declaring(jobs)
  job('show <id>', 'one job with what came of it').action(run(async () => (await loadJobs()).showJob))
  job('watch', 'what happens to jobs, as it happens').action(run(async () => (await loadJobs()).watchJobs))
  job('kill <id>', 'stop a job, or keep it from starting').action(run(async () => (await loadJobs()).killJob))
  job('retry <id>', 'try a job again now').action(run(async () => (await loadJobs()).retryJob))
}

export function addHarnessCommands(program: Command, context: MakeContext): void {
  const command = declaring(program)
  const harness = () => new Argument('<harness>', 'the program that runs the agent').choices(harnesses)
  const action =
    (ofHarness: 'connectHarness' | 'disconnectHarness', ofMcp: 'showMcp' | 'forgetMcp') =>
    async (name: (typeof harnesses)[number], options: ConnectOptions) => {
      const connect = await import('./connect/connect.ts')
      if (name !== 'mcp') return connect[ofHarness](context(), name, options)
      if (Object.keys(options).length > 0)
        program.error('error: mcp takes no options: it changes nothing, and only tells what to type')
      return connect[ofMcp](context())
    }
  command(
    'connect',
    'put hooks into the settings of a harness, the program that runs a coding agent, so that it remembers',
    'memoryd connect claude-code',
    'memoryd connect codex --dry-run',
    'memoryd connect gemini --project ~/work/shop',
    'memoryd connect mcp                how to add the MCP server to each of them',
  )
    .addArgument(harness())
    .option('--project [folder]', 'only in this project (its settings.local.json for Claude Code)')
    .option('--mail', 'also look for mail from other agents after every tool')
    .option('--dry-run', 'show what would be changed, and change nothing')
    .addHelpText(
      'after',
      '\nEverything else in the settings stays as it is, comments too; disconnect takes out only what connect put in.',
    )
    .action(action('connectHarness', 'showMcp'))
  command(
    'disconnect',
    'take our hooks out of the settings of a coding agent again',
    'memoryd disconnect claude-code',
    'memoryd disconnect gemini --project ~/work/shop',
  )
    .addArgument(harness())
    .option('--project [folder]', 'those of this project')
    .option('--dry-run', 'show what would be changed, and change nothing')
    .action(action('disconnectHarness', 'forgetMcp'))
  command(
    'hook <harness>',
    'answer a hook: what a harness says on standard input goes to the daemon, the answer is printed',
    `echo '{"hook_event_name":"SessionStart","session_id":"s","cwd":"'"$PWD"'"}' | memoryd hook codex`,
  ).action(async (name: string) => {
    const { msLeft, passOn } = await import('../hooks/pass-on.ts')
    const input = process.stdin
    try {
      const { places, env } = context()
      const asked = { harness: name, socket: places.socketPath, env, input, deadlineMs: msLeft(env) }
      if (!input.isTTY) process.stdout.write(await passOn(asked))
    } catch {
      // A broken set-up must not disturb the harness; every other command reports it.
    } finally {
      // The harness may never close it, and Node would wait for that.
      input.destroy()
    }
  })
}

export function addMachineCommands(program: Command, context: MakeContext): void {
  const command = declaring(program)
  const run = runner(context)
  const loadService = () => import('./service/service-commands.ts')
  command(
    'dream',
    'put the memories of this project in order now, and show what came of it',
    'memoryd dream                  starts one, waits for its end',
    'memoryd dream --watch          with what it does meanwhile',
    'memoryd dream --explain',
    'memoryd dream --last --json | jq .last.files',
  )
    .option('--watch', 'watch it live; Ctrl-C asks whether to leave or to stop it')
    .addOption(
      new Option('--explain', 'only tell whether it would start by itself, and by which numbers').conflicts('watch'),
    )
    .addOption(new Option('--last', 'only show what came of the last one').conflicts(['watch', 'explain']))
    .action(run(async () => (await import('./dream.ts')).dream))
  command(
    'mcp',
    'serve the memory of a project to an MCP client, over standard input and output',
    'memoryd connect mcp                    what to type, so that a coding agent starts it',
    'memoryd mcp --project ~/work/app',
  )
    .option('--project <folder>', 'another project than that of this folder')
    .option('--no-autostart', 'do not start the daemon when it is away')
    .action(run(async () => (await import('./mcp.ts')).mcp))
  const service = declaring(
    command(
      'service',
      'run memoryd as a service of yours (systemd or launchd)',
      'memoryd service install',
      'memoryd service status --json',
      'memoryd service uninstall',
    ),
  )
  service('install', 'write the service files and enable them').action(
    run(async () => (await loadService()).installService),
  )
  service('uninstall', 'disable the service and remove its files').action(
    run(async () => (await loadService()).uninstallService),
  )
  service('status', 'whether it is installed and running').action(run(async () => (await loadService()).serviceStatus))
  command(
    'demo',
    'a tour of a few seconds in a temporary home: nothing of yours is touched, nothing is left behind',
    'memoryd demo',
  ).action(async () => (await import('./demo/demo.ts')).demo(context({ HOME: tmpdir(), MEMORYD_SOCKET: undefined })))
  command(
    'uninstall',
    'remove service, hooks and, if you agree, state; memories stay',
    'memoryd uninstall              asks about the state folder',
    'memoryd uninstall --no-state',
  )
    .option('--state', 'delete the state folder without asking')
    .option('--no-state', 'keep the state folder without asking')
    .action(run(async () => (await loadService()).uninstall))
}
