/** Runs what a model asks for: permission first, then the tool, then its answer, capped and without credentials. */
import type { Clock } from '../platform/clock.ts'
import { compileGlob } from '../platform/glob.ts'
import { type ChangeDeps, edit, write } from './changes.ts'
import { runCommand } from './commands.ts'
import { type Denied, type Failed, isDenied, isFailed } from './denied.ts'
import { type Permitted, type Policy, permit } from './permission.ts'
import type { Places } from './places.ts'
import { search, tell } from './search.ts'
import { isTool } from './tools.ts'

export type ToolAnswer = { content: string; isError: boolean }

export type ToolRuns = {
  run(call: { name: string; input: unknown }, signal: AbortSignal): Promise<ToolAnswer>
  /** The model has what was answered so far. */
  delivered(): void
  denials(): number
}

type Deps = ChangeDeps & {
  policy: Policy
  places: Places
  clock: Clock
  searchPath: string
  /** Takes credentials and private spans out of what goes upstream. */
  redact: (text: string) => Promise<string>
  onDenied: (tool: string) => void
}

const CAP_LINES = 2_000
const CAP_ANSWER_CHARS = 40_000
/** What is cut off later is looked through as well: half a credential is not recognised as one. */
const CAP_REDACTED_CHARS = 2 * CAP_ANSWER_CHARS
const CAP_FOUND = 500

export function createToolRuns(deps: Deps): ToolRuns {
  const { policy, places, workspace, redact, onDenied } = deps
  let denials = 0
  return {
    denials: () => denials,
    delivered: workspace.delivered,
    run: async (call, signal) => {
      const permitted = permit(policy, places, call.name, call.input)
      const said = isDenied(permitted) ? permitted : await act(permitted, { ...deps, signal })
      if (typeof said === 'string')
        return { content: capped(await redact(said.slice(0, CAP_REDACTED_CHARS))), isError: false }
      if (isDenied(said)) {
        denials++
        // A name that a model made up may say anything, and a log keeps it.
        onDenied(isTool(call.name) ? call.name : 'unknown')
        return { content: await redact(`Denied: ${said.denied}`), isError: true }
      }
      return { content: await redact(said.failed), isError: true }
    },
  }
}

type At = Deps & { signal: AbortSignal }

async function act(call: Permitted, at: At): Promise<string | Denied | Failed> {
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
      return edit(call, at)
    case 'Write':
      return write(call, at)
  }
}

async function read(
  { place, input }: Extract<Permitted, { tool: 'Read' }>,
  { workspace }: At,
): Promise<string | Denied | Failed> {
  const seen = await workspace.read(place)
  if (isDenied(seen) || isFailed(seen)) return seen
  if (seen.text.includes('\0')) return { failed: `${place.asked} is not text` }
  const lines = seen.text.split('\n')
  const from = (input.offset ?? 1) - 1
  const some = lines.slice(from, from + (input.limit ?? CAP_LINES)).join('\n')
  const whole = some.length === seen.text.length && some.length <= CAP_ANSWER_CHARS
  if (place.inMemory !== undefined && seen.hash !== undefined)
    workspace.shown(place.inMemory, whole ? 'whole' : 'part', seen.hash)
  if (whole) return some === '' ? '(empty)' : some
  return `(lines ${from + 1} on, of ${lines.length})\n${some}`
}

async function grep({ place, input }: Extract<Permitted, { tool: 'Grep' }>, at: At): Promise<string | Denied | Failed> {
  const { pattern, glob: only, output_mode: mode = 'content', head_limit: limit = 200 } = input
  const what = { pattern, form: 'extended', ignoreCase: input['-i'] ?? false, invert: false, word: false } as const
  const found = await search([place], what, { ...at, glob: only })
  if (isDenied(found) || isFailed(found)) return found
  const shown = mode === 'content' ? 'lines' : mode === 'count' ? 'count' : 'files'
  const lines = tell(found.matches, { mode: shown, named: true, numbered: true }).split('\n').slice(0, -1)
  const more = found.cut || lines.length > limit ? '\n(there is more)' : ''
  return lines.length === 0 ? 'nothing found' : lines.slice(0, limit).join('\n') + more
}

async function glob(
  { place, input }: Extract<Permitted, { tool: 'Glob' }>,
  { workspace }: At,
): Promise<string | Denied | Failed> {
  const found = await workspace.walk(place)
  if (isDenied(found) || isFailed(found)) return found
  const fits = compileGlob(input.pattern)
  const paths = found.files.filter(({ within }) => fits(within)).map(({ path }) => path)
  const more = found.cut || paths.length > CAP_FOUND ? '\n(there is more)' : ''
  return paths.length === 0 ? 'nothing found' : paths.slice(0, CAP_FOUND).join('\n') + more
}

function capped(text: string): string {
  if (text === '') return '(nothing)'
  return text.length > CAP_ANSWER_CHARS ? `${text.slice(0, CAP_ANSWER_CHARS)}\n(cut here; ask for less)` : text
}
