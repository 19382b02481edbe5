/** The `memoryd` command: parses arguments, runs one command, turns errors into words and an exit code. */
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { exitCodeFor, exitCodes, explainError } from '../../schema/errors.ts'
import { logLevels } from '../../schema/log-line.ts'
import { findPlaces, PROTOCOL } from '../../schema/rendezvous.ts'
import { connect } from '../index.ts'
import { type Context, createPrint, harmless } from './context.ts'
import { type PauseOptions, restart, setPaused, start, stop } from './daemon.ts'
import type { DoctorOptions } from './doctor.ts'
import type { DreamOptions } from './dream.ts'
import { addHarnessCommands } from './harness-commands.ts'
import { cliMain, ownCommandName, version } from './installation.ts'
import { addJobCommands } from './job-commands.ts'
import { addMemoryCommands } from './memory-commands.ts'
import type { CompactOptions } from './sessions.ts'
import { type CostOptions, type LogsOptions, logs, status } from './status.ts'

const self = ownCommandName(process.env)
const typed = (advice: string) => {
  const commands = program.commands.map((command) => command.name()).join('|')
  return advice.replace(new RegExp(`(?<!npx )\\bmemoryd (?=(?:${commands})\\b)`, 'g'), `${self} `)
}

const program = new Command('memoryd')
  .description('One memory for every coding agent on this machine: a daemon on a Unix socket.')
  .version(`memoryd ${version} (protocol ${PROTOCOL})`)
  .option('--json', 'print data instead of text')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
  // Subcommands inherit this: help shows commands as they can be typed here.
  .configureOutput({ writeOut: (text) => void process.stdout.write(typed(text)) })
  .addHelpText(
    'after',
    `
Examples:
  memoryd start                 start the daemon and wait until it answers
  memoryd connect claude-code   let Claude Code remember; also codex, gemini, pi
  memoryd status --json         how it is doing, for a script
  memoryd logs -f               follow what it does
  memoryd pause --project       nothing is captured or recalled in this folder
  memoryd remember "We deploy on Mondays"   keep something for every agent in this project
  memoryd doctor                what is wrong, and what to do

Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 no daemon answers, 4 a daemon already runs, 5 the set-up is wrong.`,
  )

function context(env: NodeJS.ProcessEnv = process.env): Context {
  const json = program.opts<{ json?: boolean }>().json ?? false
  const colour = process.stdout.isTTY && !process.env.NO_COLOR ? 'on' : 'off'
  const print = createPrint((text) => void process.stdout.write(text), { json, colour })
  return { env, places: findPlaces(env), connect, self, typed, print }
}

// `memoryd logs | head` closes the pipe when it has seen enough.
let atBrokenPipe: () => void = () => process.exit(exitCodes.ok)
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  error.code === 'EPIPE' ? atBrokenPipe() : process.exit(exitCodes.failed),
)

const examples = (lines: string) => `\nExamples:\n${lines}`

program
  .command('serve')
  .description('run the daemon in the foreground')
  .addHelpText('after', examples('  memoryd serve          Ctrl-C stops it in order'))
  .action(async () => void (await import('../../daemon/main.ts')))
program
  .command('start')
  .description('start the daemon in the background and wait until it answers')
  .addHelpText('after', examples('  memoryd start\n  memoryd start --json | jq -r .socket'))
  .action(() => start(context()))
program
  .command('stop')
  .description('stop the daemon and wait until it is gone')
  .addHelpText('after', examples('  memoryd stop'))
  .action(() => stop(context()))
program
  .command('restart')
  .description('stop it if it runs, then start it')
  .addHelpText('after', examples('  memoryd restart        after an upgrade'))
  .action(() => restart(context()))
program
  .command('status')
  .description('how the daemon is doing')
  .addHelpText('after', examples('  memoryd status\n  memoryd status --json | jq .reasons'))
  .action(() => status(context()))
program
  .command('logs')
  .description("show the daemon's log")
  .option('-f, --follow', 'keep showing what is added')
  .option('-n, --lines <count>', 'how many lines to begin with', wholeNumber, 50)
  .addOption(new Option('--level <level>', 'leave out what is less important').choices(Object.keys(logLevels)))
  .addHelpText('after', examples('  memoryd logs -n 200 --level warn\n  memoryd logs -f --json'))
  .action((options: LogsOptions) =>
    logs(context(), (text) => void process.stdout.write(harmless(text, context().print.colour)), {
      ...options,
      ...program.opts<{ json?: boolean }>(),
    }),
  )
program
  .command('doctor')
  .description('find out what is wrong and what to do about it')
  .option('--restore [backup]', 'put a backup of history.db in place (the newest sound one); stop the daemon first')
  .addHelpText('after', examples('  memoryd doctor\n  memoryd stop && memoryd doctor --restore && memoryd start'))
  .action(async (options: DoctorOptions) => {
    process.exitCode = await (await import('./doctor.ts')).doctor(context(), options)
  })
program
  .command('cost')
  .description('what models have cost, and how much of it a cache has saved')
  .addOption(new Option('--by <what>', 'one line for each').choices(['day', 'project', 'job']).default('day'))
  .option('--days <count>', 'how many days back, today included', wholeNumber, 30)
  .addHelpText('after', examples('  memoryd cost\n  memoryd cost --by job --days 7\n  memoryd cost --json | jq .today'))
  .action(async (options: CostOptions) => (await import('./status.ts')).cost(context(), options))
program
  .command('compact <session>')
  .description('print the summary that a session would get; it goes on as it is')
  .option('--harness <name>', 'where several harnesses have a session of that id')
  .option('--model <name>', 'whose window it has to fit', 'claude-sonnet-5-5')
  .option('--instructions <text>', 'what the summary should look to')
  .addHelpText(
    'after',
    examples('  memoryd compact 1f0c\n  memoryd compact 1f0c --instructions "mind the failing tests"'),
  )
  .action(async (id: string, options: CompactOptions) =>
    (await import('./sessions.ts')).compact(context(), id, options),
  )
for (const to of ['pause', 'resume'] as const)
  program
    .command(to)
    .description(to === 'pause' ? 'stop capturing and recalling' : 'capture and recall again')
    .option('--project [folder]', 'only in the project of this folder')
    .addHelpText('after', examples(`  memoryd ${to}\n  memoryd ${to} --project ~/work/secret`))
    .action((options: PauseOptions) => setPaused(context(), to, options))
addMemoryCommands(program, context, wholeNumber)
addJobCommands(program, context, wholeNumber)
addHarnessCommands(program, context)
program
  .command('dream')
  .description('put the memories of this project in order now, and show what came of it')
  .addOption(new Option('--watch', 'watch it live; Ctrl-C asks whether to leave or to stop it'))
  .addOption(
    new Option('--explain', 'only tell whether it would start by itself, and by which numbers').conflicts('watch'),
  )
  .addOption(new Option('--last', 'only show what came of the last one').conflicts(['watch', 'explain']))
  .addHelpText(
    'after',
    examples(
      '  memoryd dream                  starts one, waits for its end\n  memoryd dream --watch          with what it does meanwhile\n  memoryd dream --explain\n  memoryd dream --last --json | jq .last.files',
    ),
  )
  .action(async (options: DreamOptions) => (await import('./dream.ts')).dream(context(), options))
program
  .command('mcp')
  .description('serve the memory of a project to an MCP client, over standard input and output')
  .option('--project <folder>', 'another project than that of this folder')
  .option('--no-autostart', 'do not start the daemon when it is away')
  .addHelpText('after', examples('  claude mcp add memoryd -- memoryd mcp\n  memoryd mcp --project ~/work/app'))
  .action(async (options: { project?: string; autostart: boolean }) =>
    (await import('./mcp.ts')).mcp(context(), {
      cwd: resolve(options.project ?? '.'),
      version,
      autostart: options.autostart,
      start: [process.execPath, cliMain, 'start'],
    }),
  )
const service = program
  .command('service')
  .description('run memoryd as a service of yours (systemd or launchd)')
  .addHelpText(
    'after',
    examples('  memoryd service install\n  memoryd service status --json\n  memoryd service uninstall'),
  )
service
  .command('install')
  .description('write the service files and enable them')
  .action(async () => (await import('./service/service-commands.ts')).installService(context()))
service
  .command('uninstall')
  .description('disable the service and remove its files')
  .action(async () => (await import('./service/service-commands.ts')).uninstallService(context()))
service
  .command('status')
  .description('whether it is installed and running')
  .action(async () => (await import('./service/service-commands.ts')).serviceStatus(context()))
program
  .command('demo')
  .description('a tour of a few seconds in a temporary home: nothing of yours is touched, nothing is left behind')
  .addHelpText('after', examples('  memoryd demo'))
  .action(async () =>
    // Whatever is wrong with the person's own home is no matter here.
    (await import('./demo/demo.ts')).demo(
      context({ ...process.env, HOME: tmpdir(), MEMORYD_SOCKET: undefined }),
      (leave) => {
        atBrokenPipe = leave
      },
    ),
  )
program
  .command('uninstall')
  .description('remove service, hooks and, if you agree, state; memories stay')
  .option('--state', 'delete the state folder without asking')
  .option('--no-state', 'keep the state folder without asking')
  .addHelpText(
    'after',
    examples('  memoryd uninstall              asks about the state folder\n  memoryd uninstall --no-state'),
  )
  .action(async (options: { state?: boolean }) =>
    (await import('./service/service-commands.ts')).uninstall(context(), options),
  )

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('expected a whole number')
  return value
}

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  } else {
    const json = program.opts<{ json?: boolean }>().json
    process.stderr.write(
      json ? `${JSON.stringify(asJson(error))}\n` : `memoryd: ${harmless(typed(explainError(error)), 'off')}\n`,
    )
    process.exitCode = exitCodeFor(error)
  }
}

function asJson(error: unknown): object {
  const { code = 'INTERNAL', message, hint } = error as { code?: string; message?: string; hint?: string }
  return { error: { code, message: message ?? String(error), ...(hint && { hint }) } }
}
