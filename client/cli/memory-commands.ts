/** The commands about memories, as the command line declares them. */
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { MemoryError } from '../../schema/errors.ts'
import type { MemoryType } from '../../schema/memory.ts'
import type { HarnessName } from '../../schema/session.ts'
import type { Context } from './context.ts'
import type { ForgetOptions, ListOptions } from './memories.ts'
import type { RecallOptions } from './sessions.ts'

const harnesses: readonly HarnessName[] = ['claude-code', 'codex', 'gemini', 'pi', 'generic']
const modes = ['auto', 'local', 'model'] as const
const types: readonly MemoryType[] = ['user', 'feedback', 'project', 'reference']

type Common = { project?: string }
type ImportOptions = { memories?: string; harness?: HarnessName }

/** Every one of them is about the project of the current folder unless told otherwise. */
export function addMemoryCommands(
  program: Command,
  context: () => Context,
  wholeNumber: (text: string) => number,
): void {
  const command = (usage: string, description: string, examples: string) =>
    program
      .command(usage)
      .description(description)
      .option('--project <folder>', 'another project than that of this folder')
      .addHelpText('after', `\nExamples:\n${examples}`)
  const where = ({ project }: Common) => ({ cwd: resolve(project ?? '.') })
  const typeOption = () => new Option('--type <type>', 'the kind of memory').choices(types)
  const reading = () => import('./memories.ts')
  const changing = () => import('./memories.ts')
  const carrying = () => import('./transfer.ts')
  const recalling = () => import('./sessions.ts')

  command(
    'list',
    'the memories of a project',
    '  memoryd list\n  memoryd list --type feedback --json\n  memoryd list --search "token refresh"',
  )
    .addOption(typeOption())
    .option('--search <words>', 'only those that say something of this, best first')
    .action(async (options: Common & ListOptions) =>
      (await reading()).list(context(), {
        ...where(options),
        ...typed(options),
        ...(options.search !== undefined && { search: options.search }),
      }),
    )
  command(
    'show <file>',
    'one memory, now or as it was',
    '  memoryd show user_role.md\n  memoryd show user_role.md --at 2026-03-01',
  )
    .addOption(new Option('--at <date>', 'as it was then').argParser(date))
    .action(async (file: string, options: Common & { at?: string }) =>
      (await reading()).show(context(), file, { ...where(options), ...(options.at && { at: options.at }) }),
    )
  command(
    'why [file]',
    'what a memory rests on, or which memories a session was given',
    '  memoryd why feedback_testing.md\n  memoryd why --session 0c8f1d2e-6f0a-4c1e-9d59-0a4d5a3c7b11',
  )
    .option('--session <id>', 'which memories a session was given, and when')
    .action(async (file: string | undefined, options: Common & { session?: string }) => {
      if ((file === undefined) === (options.session === undefined))
        throw wrongUsage('name a memory or a session', 'memoryd list lists memories')
      if (file !== undefined) return (await reading()).why(context(), file, where(options))
      return (await recalling()).whySession(context(), options.session as string)
    })
  command(
    'recall <question...>',
    'what an agent would be given for a question',
    [
      '  memoryd recall how do I fix the token refresh',
      '  memoryd recall "周五可以部署吗" --explain',
      '  memoryd recall packages/auth/src/session.ts --mode local -n 3 --json',
      '',
      'Without --session nothing is recorded and nothing counts as given.',
    ].join('\n'),
  )
    .addOption(new Option('--mode <mode>', 'who selects: a model, or words alone').choices(modes).default('auto'))
    .option('-n, --lines <count>', 'at most so many, up to 5', wholeNumber)
    .option('--session <id>', 'as this session: what it was given is left out, and what is given now is recorded')
    .addOption(
      new Option('--harness <name>', 'the program that runs the session').choices(harnesses).default('generic'),
    )
    .option('--explain', 'show how the memories were ranked')
    .action(async (question: string[], options: Common & RecallOptions) =>
      (await recalling()).recall(context(), question.join(' '), { ...options, ...where(options) }),
    )
  command('history [file]', 'what happened to the memories', '  memoryd history\n  memoryd history user_role.md -n 5')
    .option('-n, --lines <count>', 'how many changes', wholeNumber, 30)
    .action(async (file: string | undefined, options: Common & { lines: number }) =>
      (await reading()).history(context(), file, { ...where(options), lines: options.lines }),
    )
  command(
    'search <question...>',
    'what was said in the sessions of a project',
    [
      '  memoryd search token refresh since:7d',
      `  memoryd search '"TypeError: Cannot read properties"' role:tool`,
      '  memoryd search 部署脚本 session:0c8f1d2e --json',
      '',
      'Words must all be there; what stands in "quotes" must be there letter by letter (a quote in it is doubled).',
      'Narrow it with session:<id>, role:person|agent|tool, since:<date, or 7d, 12h, 2w>.',
    ].join('\n'),
  )
    .option('-n, --lines <count>', 'how many messages', wholeNumber, 20)
    .action(async (question: string[], options: Common & { lines: number }) =>
      (await import('./sessions.ts')).search(context(), question.join(' '), {
        ...where(options),
        lines: options.lines,
      }),
    )
  command(
    'notes [session]',
    'the running summary of a session',
    '  memoryd notes                 of the newest session of this project\n  memoryd notes 0c8f1d2e-5b1f-4f0e-9f0f-0a1b2c3d4e5f --json | jq -r .content',
  )
    .option('--harness <name>', 'where several harnesses have a session of that id')
    .action(async (session: string | undefined, options: Common & { harness?: string }) =>
      (await import('./sessions.ts')).notes(context(), session, {
        ...where(options),
        ...(options.harness !== undefined && { harness: options.harness }),
      }),
    )
  command(
    'remember <text...>',
    'keep something as a memory',
    '  memoryd remember "Always run the tests before a commit"',
  )
    .addOption(typeOption())
    .action(async (text: string[], options: Common & { type?: MemoryType }) =>
      (await changing()).remember(context(), text.join(' '), { ...where(options), ...typed(options) }),
    )
  command(
    'forget [file]',
    'delete a memory',
    '  memoryd forget old.md\n  memoryd forget wrong.md --reject\n  memoryd forget secret.md --purge\n  memoryd forget --rejected\n  memoryd forget --lift 3',
  )
    .option('--reject', 'and never take in again what it said')
    .option('--purge', 'and keep nothing of it, in no backup either; cannot be undone')
    .option('--yes', 'purge without asking')
    .option('--rejected', 'list what was rejected')
    .option('--lift <tombstone>', 'let something that was rejected be said again')
    .action(async (file: string | undefined, options: Common & ForgetOptions) =>
      (await changing()).forget(context(), file, { ...options, ...where(options) }),
    )
  command(
    'undo [change]',
    'put back what was before a change',
    '  memoryd undo 17\n  memoryd undo --run dream-2026-03-01',
  )
    .option('--run <run>', 'all changes of a run')
    .action(async (change: string | undefined, options: { run?: string }) => {
      if (change === undefined && options.run === undefined)
        throw wrongUsage('name a change or a run', 'memoryd history lists them')
      if (change !== undefined && options.run !== undefined)
        throw wrongUsage('name a change or a run, not both', `to undo the run: memoryd undo --run ${options.run}`)
      if (change !== undefined && !isNumber(change))
        throw wrongUsage(`${change} is not the number of a change`, 'memoryd history lists them')
      return (await changing()).undo(context(), change, options)
    })
  command(
    'review [decision] [id]',
    'changes that wait for you: approve or reject them',
    '  memoryd review\n  memoryd review approve 4\n  memoryd review reject 5',
  ).action(async (decision: string | undefined, id: string | undefined) => {
    if (decision !== undefined && (!['approve', 'reject'].includes(decision) || id === undefined))
      throw wrongUsage('say approve or reject, and which', 'memoryd review lists what waits')
    if (id !== undefined && !isNumber(id))
      throw wrongUsage(`${id} is not the number of a change that waits`, 'memoryd review lists them')
    return (await changing()).review(context(), decision as 'approve' | 'reject' | undefined, id)
  })
  command(
    'export',
    'write all memories and rejections as one file',
    '  memoryd export --out memories.jsonl\n  memoryd export | ssh elsewhere memoryd import --memories -',
  )
    .option('--out <file>', 'where to; standard output when not given')
    .action(async (options: Common & { out?: string }) =>
      (await carrying()).exportMemories(context(), { ...where(options), ...(options.out && { out: options.out }) }),
    )
  command(
    'import [folder]',
    'read all transcripts in a folder, or take in memories that were exported',
    [
      '  memoryd import ~/backup/.claude/projects',
      '  memoryd import ~/old-laptop --json',
      '  memoryd import --memories memories.jsonl --project ~/work/app',
      '',
      'Transcripts of all harnesses are recognised. What was read before is not read again, so an import that broke off is',
      'gone on with by doing it again. Memories come with their rejections, and nothing is written over.',
    ].join('\n'),
  )
    .addOption(new Option('--harness <name>', 'whose form all transcripts in the folder have').choices(harnesses))
    .option('--memories <file>', 'a file that memoryd export wrote; - is standard input')
    .action(async (folder: string | undefined, options: Common & ImportOptions) => {
      const { memories, harness, project } = options
      // An empty one is most likely a variable that is not set, and would mean the folder one stands in.
      if (folder === '' || (folder === undefined) === (memories === undefined))
        throw wrongUsage(
          'name a folder with transcripts, or a file after --memories',
          'memoryd import --help has examples',
        )
      if (memories !== undefined) {
        if (harness !== undefined) throw wrongUsage('--harness is about transcripts', 'leave it out')
        return (await carrying()).importMemories(context(), { ...where(options), memories })
      }
      if (project !== undefined) throw wrongUsage('transcripts say themselves where they belong', 'leave --project out')
      const { importTranscripts } = await import('./transfer.ts')
      return importTranscripts(context(), { dir: resolve(folder ?? '.'), ...(harness && { harness }) })
    })
  program
    .command('move <old-root> <new-root>')
    .description('let memories follow a project that was moved to where there are none yet')
    .addHelpText('after', '\nExamples:\n  mv ~/app ~/work/app && memoryd move ~/app ~/work/app')
    .action(async (from: string, to: string) => (await carrying()).move(context(), from, to))
  command('edit <file>', 'open a memory in your editor', '  EDITOR=nano memoryd edit user_role.md').action(
    async (file: string, options: Common) => (await import('./memories.ts')).edit(context(), file, where(options)),
  )
}

function typed({ type }: { type?: MemoryType }): { type?: MemoryType } {
  return type ? { type } : {}
}

/** Commander reports what is thrown while it parses arguments; this is thrown later. */
function wrongUsage(message: string, hint: string): MemoryError {
  return new MemoryError('BAD_REQUEST', message, { hint })
}

function isNumber(text: string): boolean {
  return /^\d{1,15}$/.test(text)
}

function date(text: string): string {
  if (Number.isNaN(Date.parse(text))) throw new InvalidArgumentError('expected a date such as 2026-03-01')
  return text
}
