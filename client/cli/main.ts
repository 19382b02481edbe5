/** The `memoryd` command: parses arguments, runs one command, turns errors into words and an exit code. */
import { Command, CommanderError } from 'commander'
import { exitCodeFor, exitCodes, explainError, type MemoryError } from '../../schema/errors.ts'
import { findPlaces, PROTOCOL } from '../../schema/rendezvous.ts'
import { connect } from '../index.ts'
import { addDaemonCommands, addHarnessCommands, addJobCommands, addMachineCommands } from './commands.ts'
import { type Context, createPrint, harmless } from './context.ts'
import { ownCommandName, version } from './installation.ts'
import { addMemoryCommands } from './memory-commands.ts'

const self = ownCommandName(process.env)

function typed(advice: string): string {
  const commands = program.commands.map((command) => command.name()).join('|')
  return advice.replace(new RegExp(`(?<!npx )\\bmemoryd (?=--help|\\[options\\]|(?:${commands})\\b)`, 'g'), `${self} `)
}

const program = new Command('memoryd')
  .description('One memory for every coding agent on this machine: a daemon on a Unix socket.')
  .version(`memoryd ${version} (protocol ${PROTOCOL})`)
  .option('--json', 'print data instead of text')
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('run: memoryd --help')
  .exitOverride()
  // Subcommands inherit this: help shows commands as they can be typed here.
  .configureOutput({
    writeOut: (text) => void process.stdout.write(typed(text)),
    writeErr: (text) => void process.stderr.write(typed(text)),
    // Quotes what the user typed.
    outputError: (text) => void process.stderr.write(text),
  })
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

Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 no daemon answers, 4 another daemon holds the state folder,
5 the set-up is wrong, 130 ended with Ctrl-C while the daemon goes on.`,
  )

// Commander answers `help bogus` with all of the help, and without a word about it.
program.addHelpText('after', ({ error }) => (error && program.args[1] ? `unknown command: ${program.args[1]}` : ''))

const isJson = () => program.opts<{ json?: boolean }>().json ?? false

function context(overrides: NodeJS.ProcessEnv = {}): Context {
  const env = { ...process.env, ...overrides }
  const colour = process.stdout.isTTY && !process.env.NO_COLOR ? 'on' : 'off'
  const print = createPrint((text) => void process.stdout.write(text), { json: isJson(), colour })
  return { env, places: findPlaces(env), connect, self, typed, print }
}

// `memoryd logs | head` closes the pipe when it has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? exitCodes.ok : exitCodes.failed),
)

addDaemonCommands(program, context)
addMemoryCommands(program, context)
addJobCommands(program, context)
addHarnessCommands(program, context)
addMachineCommands(program, context)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  } else {
    const { code = 'INTERNAL', message = String(error), hint } = error as Partial<MemoryError>
    const text = isJson()
      ? JSON.stringify({ error: { code, message, hint: hint && typed(hint) } })
      : `memoryd: ${harmless(typed(explainError(error)), 'off')}`
    process.stderr.write(`${text}\n`)
    process.exitCode = exitCodeFor(error)
  }
}
