/** The commands that have to do with harnesses. What they do is loaded when it is wanted. */
import { Argument, type Command } from 'commander'
import type { ConnectOptions } from './connect/connect.ts'
import type { Context } from './context.ts'

const names = ['claude-code', 'codex', 'gemini', 'pi', 'mcp'] as const
type Name = (typeof names)[number]

const examples = (lines: string) => `\nExamples:\n${lines}`

export function addHarnessCommands(program: Command, context: () => Context): void {
  const harness = () => new Argument('<harness>', 'which one').choices(names)
  const refuseOptions = (options: ConnectOptions) => {
    if (Object.keys(options).length > 0)
      program.error('error: mcp takes no options: it changes nothing, and only tells what to type')
  }
  program
    .command('connect')
    .description('put hooks into the settings of a coding agent, so that it remembers')
    .addArgument(harness())
    .option('--project [folder]', 'only in this project (its settings.local.json for Claude Code)')
    .option('--mail', 'also look for mail from other agents after every tool')
    .option('--dry-run', 'show what would be changed, and change nothing')
    .addHelpText(
      'after',
      examples(
        [
          '  memoryd connect claude-code',
          '  memoryd connect codex --dry-run',
          '  memoryd connect gemini --project ~/work/shop',
          '  memoryd connect mcp                how to add the MCP server to each of them',
          '',
          'Everything else in the settings stays as it is, comments too; disconnect takes out only what connect put in.',
        ].join('\n'),
      ),
    )
    .action(async (name: Name, options: ConnectOptions) => {
      if (name === 'mcp') {
        refuseOptions(options)
        return (await import('./connect/connect.ts')).showMcp(context())
      }
      return (await import('./connect/connect.ts')).connectHarness(context(), name, options)
    })
  program
    .command('disconnect')
    .description('take our hooks out of the settings of a coding agent again')
    .addArgument(harness())
    .option('--project [folder]', 'those of this project')
    .option('--dry-run', 'show what would be changed, and change nothing')
    .addHelpText(
      'after',
      examples('  memoryd disconnect claude-code\n  memoryd disconnect gemini --project ~/work/shop'),
    )
    .action(async (name: Name, options: ConnectOptions) => {
      if (name === 'mcp') {
        refuseOptions(options)
        return (await import('./connect/connect.ts')).forgetMcp(context())
      }
      return (await import('./connect/connect.ts')).disconnectHarness(context(), name, options)
    })
  program
    .command('hook <harness>')
    .description('answer a hook: what a harness says on standard input goes to the daemon, the answer is printed')
    .addHelpText(
      'after',
      examples(`  echo '{"hook_event_name":"SessionStart","session_id":"s","cwd":"'"$PWD"'"}' | memoryd hook codex`),
    )
    .action(async (name: string) => {
      const { msLeft, passOn } = await import('../hooks/pass-on.ts')
      try {
        const { places, env } = context()
        const input = process.stdin
        if (!input.isTTY)
          process.stdout.write(
            await passOn({ harness: name, socket: places.socketPath, env, input, deadlineMs: msLeft(env) }),
          )
      } catch {
        // No place to ask at: who runs a hook is told nothing of it. Any other command says what is wrong.
      } finally {
        // It may never end, and would be waited for.
        process.stdin.destroy()
      }
    })
}
