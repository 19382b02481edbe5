/** The commands about memories and sessions, as the command line declares them. What a command does is imported when it runs. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { HarnessName } from '../../schema/session.ts'
import type { MemoryType } from '../../schema/values.ts'
import { declaring, type MakeContext, runner, wholeNumber } from './commands.ts'
import { isNumber, refuseNoFolder, wrongUsage } from './context.ts'
import type { Where } from './memories.ts'

const harnesses: readonly HarnessName[] = ['claude-code', 'codex', 'gemini', 'pi', 'generic']
const modes = ['auto', 'local', 'model'] as const
const types: readonly MemoryType[] = ['user', 'feedback', 'project', 'reference']

type ImportOptions = Where & { project?: string; memories?: string; harness?: HarnessName }

export function addMemoryCommands(program: Command, context: MakeContext): void {
  const command = declaring(program)
  const run = runner(context)
  const inProject = (usage: string, description: string, ...examples: string[]) =>
    command(usage, description, ...examples)
      .option('--project <folder>', 'another project than that of this folder')
      .hook('preAction', (running) => {
        const cwd = resolve(running.opts<{ project?: string }>().project ?? '.')
        // What is kept of a project that was moved can still be seen.
        if (/^(remember|recall|import|edit)$/.test(running.name()) || existsSync(cwd)) refuseNoFolder(cwd)
        running.setOptionValue('cwd', cwd)
      })
  const typeOption = () => new Option('--type <type>', 'the kind of memory').choices(types)
  const memories = () => import('./memories.ts')
  const sessions = () => import('./sessions.ts')
  const transfer = () => import('./transfer.ts')

  inProject(
    'list',
    'the memories of a project',
    'memoryd list',
    'memoryd list --type feedback --json',
    'memoryd list --search "token refresh"',
  )
    .addOption(typeOption())
    .option('--search <words>', 'only those that say something of this, best first')
    .action(run(async () => (await memories()).list))
  inProject(
    'show <file>',
    'one memory, now or as it was',
    'memoryd show user_role.md',
    'memoryd show user_role.md --at 2026-03-01',
  )
    .addOption(new Option('--at <date>', 'as it was then').argParser(date))
    .action(run(async () => (await memories()).show))
  inProject(
    'why [file]',
    'what a memory rests on, or which memories a session was given',
    'memoryd why feedback_testing.md',
    'memoryd why --session 0c8f1d2e-6f0a-4c1e-9d59-0a4d5a3c7b11',
  )
    .option('--session <id>', 'which memories a session was given, and when')
    .action(async (file: string | undefined, options: Where & { session?: string }) => {
      if ((file === undefined) === (options.session === undefined))
        throw wrongUsage('name a memory or a session', 'run: memoryd list')
      if (file !== undefined) return (await memories()).why(context(), file, options)
      return (await sessions()).whySession(context(), options.session as string)
    })
  inProject(
    'recall <question...>',
    'what an agent would be given for a question',
    'memoryd recall how do I fix the token refresh',
    'memoryd recall "周五可以部署吗" --explain',
    'memoryd recall packages/auth/src/session.ts --mode local -n 3 --json',
  )
    .addHelpText('after', '\nWithout --session nothing is recorded and nothing counts as given.')
    .addOption(new Option('--mode <mode>', 'who selects: a model, or words alone').choices(modes).default('auto'))
    .option('-n, --lines <count>', 'at most so many, up to 5', wholeNumber)
    .option('--session <id>', 'as this session: what it was given is left out, and what is given now is recorded')
    .addOption(
      new Option('--harness <name>', 'the program that runs the session').choices(harnesses).default('generic'),
    )
    .option('--explain', 'show how the memories were ranked')
    .action(run(async () => (await sessions()).recall))
  inProject('history [file]', 'what happened to the memories', 'memoryd history', 'memoryd history user_role.md -n 5')
    .option('-n, --lines <count>', 'how many changes', wholeNumber, 30)
    .action(run(async () => (await memories()).history))
  inProject(
    'search <question...>',
    'what was said in the sessions of a project',
    'memoryd search token refresh since:7d',
    `memoryd search '"TypeError: Cannot read properties"' role:tool`,
    'memoryd search 部署脚本 session:0c8f1d2e --json',
  )
    .addHelpText(
      'after',
      `
Words must all be there; what stands in "quotes" must be there letter by letter (a quote in it is doubled).
Narrow it with session:<id>, role:person|agent|tool, since:<date, or 7d, 12h, 2w>.`,
    )
    .option('-n, --lines <count>', 'how many messages', wholeNumber, 20)
    .action(run(async () => (await sessions()).search))
  inProject(
    'notes [session]',
    'the running summary of a session',
    'memoryd notes                 of the newest session of this project',
    'memoryd notes 0c8f1d2e-5b1f-4f0e-9f0f-0a1b2c3d4e5f --json | jq -r .content',
  )
    .option('--harness <name>', 'where several harnesses have a session of that id')
    .action(run(async () => (await sessions()).notes))
  inProject(
    'remember <text...>',
    'keep something as a memory',
    'memoryd remember "Always run the tests before a commit"',
  )
    .addOption(typeOption())
    .action(run(async () => (await memories()).remember))
  inProject(
    'forget [file]',
    'delete a memory',
    'memoryd forget old.md',
    'memoryd forget wrong.md --reject',
    'memoryd forget secret.md --purge',
    'memoryd forget --rejected',
    'memoryd forget --lift 3',
  )
    .option('--reject', 'and never take in again what it said')
    .option('--purge', 'and keep nothing of it, in no backup either; cannot be undone')
    .option('--yes', 'purge without asking')
    .option('--rejected', 'list what was rejected')
    .option('--lift <tombstone>', 'let something that was rejected be said again')
    .action(run(async () => (await memories()).forget))
  inProject(
    'undo [change]',
    'put back what was before a change',
    'memoryd undo 17',
    'memoryd undo --run dream-2026-03-01',
  )
    .option('--run <run>', 'all changes of a run')
    .action(async (change: string | undefined, { run }: { run?: string }) => {
      if (change === undefined && run === undefined) throw wrongUsage('name a change or a run', 'run: memoryd history')
      if (change !== undefined && run !== undefined)
        throw wrongUsage('name a change or a run, not both', `to undo the run: memoryd undo --run ${run}`)
      if (change !== undefined && !isNumber(change))
        throw wrongUsage(`${change} is not the number of a change`, 'run: memoryd history')
      return (await memories()).undo(context(), change, run)
    })
  inProject(
    'review [decision] [id]',
    'changes that wait for you: approve or reject them',
    'memoryd review',
    'memoryd review approve 4',
    'memoryd review reject 5',
  ).action(async (decision: string | undefined, id: string | undefined) => {
    if (decision !== undefined && (!['approve', 'reject'].includes(decision) || id === undefined))
      throw wrongUsage('say approve or reject, and which', 'run: memoryd review')
    if (id !== undefined && !isNumber(id))
      throw wrongUsage(`${id} is not the number of a change that waits`, 'run: memoryd review')
    return (await memories()).review(context(), decision as 'approve' | 'reject' | undefined, id)
  })
  inProject(
    'export',
    'write all memories and rejections as one file',
    'memoryd export --out memories.jsonl',
    'memoryd export | memoryd import --memories - --project ~/work/app',
  )
    .option('--out <file>', 'where to; standard output when not given')
    .action(run(async () => (await transfer()).exportMemories))
  inProject(
    'import [folder]',
    'read all transcripts in a folder, or take in memories that were exported',
    'memoryd import ~/backup/.claude/projects',
    'memoryd import ~/old-laptop --json',
    'memoryd import --memories memories.jsonl --project ~/work/app',
  )
    .addHelpText(
      'after',
      `
Transcripts of all harnesses are recognised. What was read before is not read again, so an import that broke off is
gone on with by doing it again. Memories come with their rejections, and nothing is written over.`,
    )
    .addOption(new Option('--harness <name>', 'whose form all transcripts in the folder have').choices(harnesses))
    .option('--memories <file>', 'a file that memoryd export wrote; - is standard input')
    .action(async (folder: string | undefined, { cwd, memories, harness, project }: ImportOptions) => {
      if ((folder === undefined) === (memories === undefined))
        throw wrongUsage('name a folder with transcripts, or a file after --memories', 'run: memoryd import --help')
      if (memories !== undefined) {
        if (harness !== undefined) throw wrongUsage('--harness is about transcripts', 'leave it out')
        return (await transfer()).importMemories(context(), memories, cwd)
      }
      if (project !== undefined) throw wrongUsage('transcripts say themselves where they belong', 'leave --project out')
      const wanted = { dir: resolve(folder ?? '.'), ...(harness && { harness }) }
      return (await transfer()).importTranscripts(context(), wanted)
    })
  command(
    'move <old-root> <new-root>',
    'let memories follow a project that was moved to where there are none yet',
    'mv ~/app ~/work/app && memoryd move ~/app ~/work/app',
  ).action(run(async () => (await transfer()).move))
  inProject('edit <file>', 'open a memory in your editor', 'EDITOR=nano memoryd edit user_role.md').action(
    run(async () => (await memories()).edit),
  )
}

function date(text: string): string {
  if (Number.isNaN(Date.parse(text))) throw new InvalidArgumentError('expected a date such as 2026-03-01')
  return text
}
