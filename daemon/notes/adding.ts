/** Adds what was gathered to notes, section by section, so that notes by a model and by rules go on in each other. Pure. */
import { BYTES_PER_TOKEN, tokensIn } from '../platform/tokens.ts'
import type { Gathered } from './extractive.ts'
import { bodiesOf } from './guard.ts'
import { joined, type Template, titleKey } from './template.ts'
import { oneLine, short, shortWithNames } from './wording.ts'

/** In tokens; together less than notes may have, so that nothing is cut when they are used. */
const ROOM = {
  'Session Title': 60,
  'Current State': 700,
  'Task specification': 1_900,
  'Files and Functions': 1_700,
  Workflow: 1_400,
  'Errors & Corrections': 1_400,
  'Codebase and System Documentation': 300,
  'Key results': 1_400,
  Worklog: 1_600,
} as const
type Title = keyof typeof ROOM

const ASKED = '- Asked last: '
const ANSWERED = '- Answered last: '
const WORKS_IN = '- The session works in '

export function addGathered(template: Template, notes: string, gathered: Gathered, cwd: string | null): string {
  const bodies = bodiesOf(template, notes)
  const places = new Map(template.map(({ title }, n) => [titleKey(title), n]))
  const change = (title: Title, act: (lines: string[]) => string[]) => {
    // In a template of one's own what has no place stands in the last section.
    const n = places.get(titleKey(title)) ?? template.length - 1
    const before = linesOf(bodies[n] ?? '')
    const after = act(before)
    const room = Math.max(ROOM[title], tokensIn(before.join('\n')))
    bodies[n] = fitted(after, room, title).join('\n')
  }
  const { requests, corrections, files, commands, errors, turns, answer } = gathered
  const [first] = requests
  const last = requests.at(-1)
  if (first !== undefined && places.has(titleKey('Session Title')))
    change('Session Title', (lines) => (lines.length > 0 ? lines : [plainTitle(first)]))
  change('Current State', (lines) => [
    ...(last === undefined ? lines.filter((line) => line.startsWith(ASKED)) : [`${ASKED}${last}`]),
    ...(answer === '' ? lines.filter((line) => line.startsWith(ANSWERED)) : [`${ANSWERED}${answer}`]),
    ...lines.filter((line) => !line.startsWith(ASKED) && !line.startsWith(ANSWERED)),
  ])
  change('Task specification', (lines) => added(lines, requests))
  change('Files and Functions', (lines) => withFiles(lines, files))
  change('Workflow', (lines) => withCommands(lines, commands))
  change('Errors & Corrections', (lines) =>
    added(lines, [...errors, ...corrections.map((words) => `The user corrected: ${words}`)]),
  )
  if (cwd !== null)
    change('Codebase and System Documentation', (lines) =>
      lines.some((line) => line.startsWith(WORKS_IN)) ? lines : [...lines, `${WORKS_IN}${oneLine(cwd)}`],
    )
  change('Key results', (lines) =>
    added(
      lines,
      turns.flatMap((turn) => (turn.answer === '' ? [] : [turn.answer])),
    ),
  )
  change('Worklog', (lines) => added(lines, turns.filter(({ asked, calls }) => asked !== '' || calls > 0).map(workOf)))
  return joined(template, bodies)
}

/** Without what would make a heading, a list or code of it. */
function plainTitle(text: string): string {
  return short(text.replace(/^[\s#>*_`~+-]+/, ''), 80)
}

function linesOf(body: string): string[] {
  return body === '' ? [] : body.split('\n')
}

function added(lines: readonly string[], items: readonly string[]): string[] {
  const known = new Set(lines)
  const fresh = new Set(items.map((item) => `- ${item}`).filter((line) => !known.has(line)))
  return [...lines, ...fresh]
}

const FILE = /^- (.+) \(((?:read|edited|written)(?:, (?:read|edited|written))*)\)$/

/** What was touched last stands last. */
function withFiles(lines: readonly string[], files: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const known = new Map<string, Set<string>>()
  for (const line of lines) {
    const [, file = '', how = ''] = FILE.exec(line) ?? []
    if (files.has(file)) known.set(file, new Set(how.split(', ')))
  }
  const others = lines.filter((line) => !known.has(FILE.exec(line)?.[1] ?? ''))
  const told = [...files].map(([file, how]) => {
    const all = new Set([...(known.get(file) ?? []), ...how])
    return `- ${file} (${['written', 'edited', 'read'].filter((each) => all.has(each)).join(', ')})`
  })
  return [...others, ...told]
}

const COMMAND = /^- (`[^`]+`)(?: \((\d{1,9}) times\))?$/

function withCommands(lines: readonly string[], commands: ReadonlyMap<string, number>): string[] {
  const known = new Map<string, number>()
  for (const line of lines) {
    const [, command = '', times = '1'] = COMMAND.exec(line) ?? []
    if (commands.has(command)) known.set(command, Number(times))
  }
  const others = lines.filter((line) => !known.has(COMMAND.exec(line)?.[1] ?? ''))
  const told = [...commands].map(([command, times]) => {
    const all = times + (known.get(command) ?? 0)
    return `- ${command}${all > 1 ? ` (${all} times)` : ''}`
  })
  return [...others, ...told]
}

type Worked = Gathered['turns'][number]

function workOf({ at, asked, calls, changed }: Worked): string {
  const when = at === null ? '' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} `
  const did = calls === 0 ? 'answered' : `${calls} tool ${calls === 1 ? 'call' : 'calls'}`
  const files = changed.size === 0 ? '' : `, changed ${short([...changed].join(', '), 160)}`
  return `${when}${asked.trim() === '' ? 'went on' : short(asked, 100)}: ${did}${files}`
}

const CONDENSED_CHARS = 70

/** The first line says what it began with. Of requests the older ones are told in fewer words before any goes. */
function fitted(lines: readonly string[], roomTokens: number, title: Title): string[] {
  const size = (some: readonly string[]) => tokensIn(some.join('\n'))
  const kept = [...lines]
  let over = size(kept) - roomTokens
  const condensable = title === 'Task specification' ? kept.length - 1 : 0
  for (let n = 1; n < condensable && over > 0; n++) {
    const line = kept[n] as string
    const condensed = line.startsWith('- ') ? `- ${shortWithNames(line.slice(2), CONDENSED_CHARS, 120)}` : line
    if (condensed.length >= line.length) continue
    over -= Math.floor((Buffer.byteLength(line) - Buffer.byteLength(condensed)) / BYTES_PER_TOKEN)
    kept[n] = condensed
  }
  let gone = 1
  for (over = size(kept) - roomTokens; over > 0 && gone < kept.length - 1; gone++)
    over -= Math.floor((Buffer.byteLength(kept[gone] as string) + 1) / BYTES_PER_TOKEN)
  return gone === 1 ? kept : [kept[0] as string, ...kept.slice(gone)]
}
