/** The commands that have to do with harnesses. */
import type { Command } from 'commander'
import type { Context } from './context.ts'

const examples = (lines: string) => `\nExamples:\n${lines}`

export function addHarnessCommands(program: Command, context: () => Context): void {
  program
    .command('hook <harness>')
    .description('answer a hook: what a harness says on standard input goes to the daemon, the answer is printed')
    .addHelpText(
      'after',
      examples(`  echo '{"hook_event_name":"SessionStart","session_id":"s","cwd":"'"$PWD"'"}' | memoryd hook codex`),
    )
    .action(async (harness: string) => {
      const { places, env } = context()
      const { passOn } = await import('../hooks/pass-on.ts')
      process.stdout.write(await passOn({ harness, socket: places.socketPath, env, input: process.stdin }))
    })
}
