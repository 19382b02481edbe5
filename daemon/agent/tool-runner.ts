/** Runs what a model asks for: permission first, then the tool, then its answer, capped and without credentials. */
import type { Clock } from '../platform/clock.ts'
import { message } from '../platform/files.ts'
import { createInTurn } from '../platform/queue.ts'
import { runCommand } from './bash.ts'
import { namePattern, search, tell } from './grep.ts'
import { type Permitted, type Places, type Policy, permit } from './permissions.ts'
import {
  CAP_ANSWER_CHARS,
  CAP_MADE_CHARS,
  type CleanTexts,
  capped,
  countNewlines,
  createCleanTexts,
  createPace,
  type Denied,
  type Failed,
  isDenied,
  isFailed,
  type Pace,
  seenOf,
  someLines,
  type Told,
  told,
} from './tool-output.ts'
import { isTool } from './tools.ts'
import { type ChangeDeps, edit, write } from './working-copy.ts'

export type ToolAnswer = { content: string; isError: boolean }

type Call = { name: string; input: unknown }

export type ToolRuns = {
  run(call: Call, signal: AbortSignal): Promise<ToolAnswer>
  /** A call that is not even looked at. Counted like any other that is denied. */
  deny(name: string, because: string): Promise<ToolAnswer>
  /** The model has what was answered so far. */
  delivered(): void
  denials(): number
  /** How many of them would have changed something that is no memory. */
  astray(): number
}

type Deps = ChangeDeps & {
  policy: Policy
  places: Places
  clock: Clock
  searchPath: string
  /** Takes credentials and private spans out of what goes upstream. */
  redact: (text: string) => Promise<string>
  onDenied: (tool: string) => void
  /** What the model is shown of files, as it sees it. */
  onShown: (text: string) => void
}

const CAP_LINES = 2_000
const CAP_FOUND = 500
/** All that one answer of the model can make us tell: more than that is no question. */
const CAP_TOLD_CHARS = 400_000

export function createToolRuns(deps: Deps): ToolRuns {
  const { policy, places, workspace, redact, onDenied, onShown, clock } = deps
  const clean = createCleanTexts({ redact })
  let denials = 0
  let astray = 0
  let toldChars = 0
  const inTurn = createInTurn()

  const answer = async (call: Call, signal: AbortSignal): Promise<ToolAnswer> => {
    const said = await attempt(call, signal)
    if ('text' in said) {
      const told = await tellModel(said)
      if (!isChange(call.name)) onShown(told.content)
      return told
    }
    if (isDenied(said)) {
      if (said.astray) astray++
      return deny(call.name, said.denied)
    }
    return { content: await redact(said.failed), isError: true }
  }

  const deny = async (name: string, because: string): Promise<ToolAnswer> => {
    denials++
    // A name that a model made up may say anything, and a log keeps it.
    onDenied(isTool(name) ? name : 'unknown')
    return { content: await redact(`Denied: ${because}`), isError: true }
  }

  const attempt = async (call: Call, signal: AbortSignal): Promise<Told | Denied | Failed> => {
    if (signal.aborted) return { failed: 'it was stopped' }
    const permitted = permit(policy, places, call.name, call.input)
    if (isDenied(permitted)) return permitted
    try {
      return await act(permitted, { ...deps, clean, pace: createPace({ clock, signal }), signal })
    } catch (error) {
      // A disk or a file of a kind that nobody thought of; what is left of the run may still be good.
      return { failed: `${permitted.tool} did not work: ${message(error)}` }
    }
  }

  const tellModel = async (said: Told): Promise<ToolAnswer> => {
    // What is cut off later is looked through as well: half a credential is not recognised as one.
    const made = said.text.slice(0, CAP_MADE_CHARS)
    const text = await redact(made)
    const content = capped(text)
    if (toldChars + content.length > CAP_TOLD_CHARS)
      return { content: 'this is too much for one answer; ask for less at once', isError: true }
    toldChars += content.length
    // Where something was taken out only now, nobody knows what stands where.
    const isKept = text === made || (text.length <= CAP_ANSWER_CHARS && said.text.length <= CAP_MADE_CHARS)
    const seen = seenOf(said, text === made ? CAP_ANSWER_CHARS : isKept ? said.text.length : 0)
    for (const { file, how, hash } of seen) workspace.shown(file, how, hash)
    return { content, isError: false }
  }

  return {
    deny,
    denials: () => denials,
    astray: () => astray,
    delivered: () => {
      toldChars = 0
      workspace.delivered()
    },
    // One after the other: fifty files at once would be in memory fifty times.
    run: (call, signal) => inTurn('tools', () => answer(call, signal)),
  }
}

function isChange(name: string): boolean {
  return name === 'Edit' || name === 'Write'
}

type At = Deps & { clean: CleanTexts; pace: Pace; signal: AbortSignal }
type Said = Told | Denied | Failed

async function act(call: Permitted, at: At): Promise<Said> {
  switch (call.tool) {
    case 'Read':
      return read(call, at)
    case 'Grep':
      return grep(call, at)
    case 'Glob':
      return glob(call, at)
    case 'Bash':
      return runCommand(call, at)
    case 'Edit':
      return asTold(await edit(call, at))
    case 'Write':
      return asTold(await write(call, at))
  }
}

function asTold(said: string | Denied | Failed): Said {
  return typeof said === 'string' ? told(said) : said
}

async function read({ place, input }: Extract<Permitted, { tool: 'Read' }>, { workspace, clean }: At): Promise<Said> {
  const seen = await workspace.read(place)
  if (isDenied(seen) || isFailed(seen)) return seen
  if (seen.text.includes('\0')) return { failed: `${place.asked} is not text` }
  const text = await clean.whole(seen.text)
  const from = (input.offset ?? 1) - 1
  const some = someLines(text, from, input.limit ?? CAP_LINES)
  const whole = some.length === text.length && some.length <= CAP_ANSWER_CHARS
  const title = whole ? '' : `(lines ${from + 1} on, of ${countNewlines(text) + 1})\n`
  const shown = title + (whole && some === '' ? '(empty)' : some)
  if (place.inMemory === undefined || seen.hash === undefined) return told(shown)
  return told(shown, [{ file: place.inMemory, hash: seen.hash, start: 0, end: shown.length, whole }])
}

async function grep({ place, input }: Extract<Permitted, { tool: 'Grep' }>, at: At): Promise<Said> {
  const { pattern, glob: only, output_mode: mode = 'content', head_limit: limit = 200 } = input
  const what = { pattern, form: 'extended', ignoreCase: input['-i'] ?? false, invert: false, word: false } as const
  const found = await search([place], what, { ...at, glob: only, lines: mode === 'content' ? limit : 0 })
  if (isDenied(found) || isFailed(found)) return found
  const shown = mode === 'content' ? 'lines' : mode === 'count' ? 'count' : 'files'
  const lines = tell(found.matches, { mode: shown, named: true, numbered: true }).split('\n').slice(0, -1)
  const more = found.cut || lines.length > limit ? '\n(there is more)' : ''
  return told(lines.length === 0 ? 'nothing found' : lines.slice(0, limit).join('\n') + more)
}

async function glob({ place, input }: Extract<Permitted, { tool: 'Glob' }>, { workspace, pace }: At): Promise<Said> {
  const pattern = namePattern(input.pattern)
  if (isDenied(pattern)) return pattern
  const found = await workspace.walk(place, pace)
  if (isDenied(found) || isFailed(found)) return found
  const paths: string[] = []
  for (const { within, path } of found.files) {
    const late = await pace()
    if (late) return late
    if (pattern.fits(within)) paths.push(path)
  }
  const more = found.cut || paths.length > CAP_FOUND ? '\n(there is more)' : ''
  return told(paths.length === 0 ? 'nothing found' : paths.slice(0, CAP_FOUND).join('\n') + more)
}
