/** Runs what a model asks for: permission first, then the tool, then its answer, capped and without credentials. */
import type { Core } from '../core.ts'
import { message } from '../platform/files.ts'
import type { Task } from './agent.ts'
import { runCommand } from './bash.ts'
import { formatMatches, namePattern, search, type ToolContext } from './grep.ts'
import { type Permitted, type Places, permit } from './permissions.ts'
import {
  type Answer,
  answer,
  CAP_ANSWER_CHARS,
  CAP_MADE_CHARS,
  capped,
  cleanText,
  countNewlines,
  createCleanTexts,
  createPace,
  isRefused,
  isTool,
  type Refused,
  seenOf,
  someLines,
} from './tools.ts'
import { edit, type WorkingCopy, write } from './working-copy.ts'

type ToolResult = { content: string; isError: boolean }
type Call = { name: string; input: unknown }

const CAP_LINES = 2_000
const CAP_FOUND = 500
const CAP_TURN_CHARS = 400_000

export function createToolRunner({ clock, env, log }: Core, task: Task, places: Places, copy: WorkingCopy) {
  const clean = createCleanTexts()
  let denials = 0
  let astray = 0
  let turnChars = 0

  const run = async (call: Call, signal: AbortSignal): Promise<ToolResult> => {
    const output = await attempt(call, signal)
    if ('text' in output) {
      const result = await show(output)
      if (!isChange(call.name)) task.onShown?.(result.content)
      return result
    }
    if ('denied' in output) {
      if (output.astray) astray++
      return deny(call.name, output.denied)
    }
    return { content: await cleanText(output.failed), isError: true }
  }

  const deny = async (name: string, because: string): Promise<ToolResult> => {
    denials++
    // A name that a model made up may say anything, and a log keeps it.
    log.info({ job: task.job, tool: isTool(name) ? name : 'unknown' }, 'a model asked for what it may not have')
    return { content: await cleanText(`Denied: ${because}`), isError: true }
  }

  const attempt = async (call: Call, signal: AbortSignal): Promise<Answer | Refused> => {
    if (signal.aborted) return { failed: 'it was stopped' }
    const permitted = permit(task.policy, places, call.name, call.input)
    if ('denied' in permitted) return permitted
    const searchPath = env.PATH ?? '/usr/bin:/bin'
    try {
      return await act(permitted, task, { copy, clean, clock, searchPath, signal, pace: createPace(clock, signal) })
    } catch (error) {
      // An unforeseen error of the disk; what is left of the run may still be good.
      return { failed: `${permitted.tool} did not work: ${message(error)}` }
    }
  }

  const show = async (output: Answer): Promise<ToolResult> => {
    // What is cut off later is cleaned as well: half a credential is not recognised as one.
    const made = output.text.slice(0, CAP_MADE_CHARS)
    const text = await cleanText(made)
    const content = capped(text)
    if (turnChars + content.length > CAP_TURN_CHARS)
      return { content: 'this is too much for one answer; ask for less at once', isError: true }
    turnChars += content.length
    // Where something was taken out only now, places in the text are no longer known.
    const isKept = text === made || (text.length <= CAP_ANSWER_CHARS && output.text.length <= CAP_MADE_CHARS)
    const seen = seenOf(output, text === made ? CAP_ANSWER_CHARS : isKept ? output.text.length : 0)
    for (const { file, how, hash } of seen) copy.shown(file, how, hash)
    return { content, isError: false }
  }

  return {
    run,
    deny,
    delivered: (): void => {
      turnChars = 0
      copy.delivered()
    },
    denials: () => denials,
    astray: () => astray,
  }
}
export type ToolRunner = ReturnType<typeof createToolRunner>

export function isChange(name: string): boolean {
  return name === 'Edit' || name === 'Write'
}

async function act(call: Permitted, task: Task, at: ToolContext): Promise<Answer | Refused> {
  switch (call.tool) {
    case 'Read':
      return read(call, at)
    case 'Grep':
      return grep(call, at)
    case 'Glob':
      return glob(call, at)
    case 'Bash':
      return runCommand(call.command, call.places, at)
    default: {
      const done = await (call.tool === 'Edit' ? edit(call, at.copy, task) : write(call, at.copy, task))
      return typeof done === 'string' ? answer(done) : done
    }
  }
}

type Of<Tool> = Extract<Permitted, { tool: Tool }>

async function read({ place, input }: Of<'Read'>, { copy, clean }: ToolContext): Promise<Answer | Refused> {
  const seen = copy.read(place)
  if (isRefused(seen)) return seen
  if (seen.text.includes('\0')) return { failed: `${place.asked} is not text` }
  const text = await clean.whole(seen.text)
  const from = (input.offset ?? 1) - 1
  const some = someLines(text, from, input.limit ?? CAP_LINES)
  const whole = some.length === text.length && some.length <= CAP_ANSWER_CHARS
  const title = whole ? '' : `(lines ${from + 1} on, of ${countNewlines(text) + 1})\n`
  const shown = title + (whole && some === '' ? '(empty)' : some)
  if (place.inMemory === undefined || seen.hash === undefined) return answer(shown)
  return answer(shown, [{ file: place.inMemory, hash: seen.hash, start: 0, end: shown.length, whole }])
}

async function grep({ place, input }: Of<'Grep'>, at: ToolContext): Promise<Answer | Refused> {
  const { pattern, glob: only, output_mode: mode = 'content', head_limit: limit = 200 } = input
  const what = { pattern, form: 'extended', ignoreCase: input['-i'] ?? false, invert: false, word: false } as const
  const found = await search([place], what, { ...at, glob: only, lines: mode === 'content' ? limit : 0 })
  if (isRefused(found)) return found
  const shown = mode === 'content' ? 'lines' : mode === 'count' ? 'count' : 'files'
  const lines = formatMatches(found.matches, { mode: shown, named: true, numbered: true }).split('\n').slice(0, -1)
  const more = found.cut || lines.length > limit ? '\n(there is more)' : ''
  return answer(lines.length === 0 ? 'nothing found' : lines.slice(0, limit).join('\n') + more)
}

async function glob({ place, input }: Of<'Glob'>, { copy, pace }: ToolContext): Promise<Answer | Refused> {
  const pattern = namePattern(input.pattern)
  if (isRefused(pattern)) return pattern
  const found = await copy.walk(place, pace)
  if (isRefused(found)) return found
  const paths: string[] = []
  for (const { within, path } of found.files) {
    const late = await pace()
    if (late) return late
    if (pattern.fits(within)) paths.push(path)
  }
  const more = found.cut || paths.length > CAP_FOUND ? '\n(there is more)' : ''
  return answer(paths.length === 0 ? 'nothing found' : paths.slice(0, CAP_FOUND).join('\n') + more)
}
