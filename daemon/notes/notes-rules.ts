/** Notes without a model: requests, files, commands, errors and answers are added to the notes there are. Pure. */
import { parseJson } from '../platform/json.ts'
import { BYTES_PER_TOKEN, tokensIn } from '../platform/text.ts'
import type { MessageRow } from '../sessions/message-table.ts'
import { isShellTool, type ToolCall } from '../transcripts/formats/facts.ts'
import { bodiesOf } from './notes-guard.ts'
import { joined, type Template, titleKey } from './template.ts'

export type Spoken = Pick<MessageRow, 'uid' | 'at' | 'startsTurn'> & {
  by: string
  text: string
  toolCalls: readonly ToolCall[]
  toolResults: readonly { callId: string; text: string }[]
}

type Turn = { at: number | null; asked: string; calls: number; changed: Set<string>; answer: string }

type Gathered = ReturnType<typeof createGathering>['gathered']

const REQUEST_CHARS = 400
const NAMES_CHARS = 400
const COMMAND_CHARS = 200
const ERROR_CHARS = 240
const ANSWER_CHARS = 600

const CORRECTION =
  /^\W*(?:no[,.! ]|nope\b|don['’]t\b|do not\b|stop\b|actually\b|instead\b|wrong\b|that['’]s (?:not|wrong)|not (?:like|what)|undo\b|revert\b|不要|不对|别|错了|不是)/i

export function createGathering(cwd: string | null) {
  const gathered = {
    requests: [] as string[],
    corrections: [] as string[],
    files: new Map<string, Set<string>>(),
    commands: new Map<string, number>(),
    errors: new Set<string>(),
    turns: [] as Turn[],
    answer: '',
  }
  const calls = new Map<string, { shell: boolean; of: string }>()
  const local = (path: string) => (cwd !== null && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path)
  const newTurn = (at: number | null, asked: string): Turn => {
    const turn: Turn = { at, asked, calls: 0, changed: new Set(), answer: '' }
    gathered.turns.push(turn)
    return turn
  }

  const hearPerson = ({ text, at, startsTurn }: Spoken) => {
    if (startsTurn === 1) newTurn(at, text)
    if (text.trim() === '') return
    gathered.requests.push(shortWithNames(text, REQUEST_CHARS, NAMES_CHARS))
    if (CORRECTION.test(text)) gathered.corrections.push(short(text, ERROR_CHARS))
  }

  const hearAgent = ({ text, toolCalls }: Spoken) => {
    const turn = gathered.turns.at(-1) ?? newTurn(null, '')
    turn.calls += toolCalls.length
    if (text.trim() !== '') {
      turn.answer = short(text, ANSWER_CHARS)
      gathered.answer = turn.answer
    }
    for (const call of toolCalls) {
      let of = call.name
      for (const deed of deedsOf(call)) {
        if ('command' in deed) {
          of = `\`${short(deed.command, COMMAND_CHARS).replaceAll('`', "'")}\``
          gathered.commands.set(of, (gathered.commands.get(of) ?? 0) + 1)
          continue
        }
        const file = short(local(deed.file), COMMAND_CHARS)
        of = `${call.name} ${file}`
        gathered.files.set(file, (gathered.files.get(file) ?? new Set()).add(deed.how))
        if (deed.how !== 'read') turn.changed.add(file)
      }
      calls.set(call.id, { shell: isShellTool(call.name), of })
    }
  }

  const hearTool = ({ toolResults }: Spoken) => {
    for (const { callId, text } of toolResults) {
      const call = calls.get(callId)
      calls.delete(callId)
      for (const line of errorsIn(text, call?.shell ?? false))
        gathered.errors.add(`${call ? `${call.of}: ` : ''}${short(line, ERROR_CHARS)}`)
    }
  }

  return {
    gathered,
    hear: (spoken: Spoken) => {
      if (spoken.by === 'person') hearPerson(spoken)
      if (spoken.by === 'agent') hearAgent(spoken)
      if (spoken.by === 'tool') hearTool(spoken)
    },
  }
}

/** In tokens; together less than notes may have, so that nothing is cut when they are shown. */
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
    // What has no place in a person's own template stands in its last section.
    const n = places.get(titleKey(title)) ?? template.length - 1
    const before = bodies[n] ? bodies[n].split('\n') : []
    const after = act(before)
    const room = Math.max(ROOM[title], tokensIn(before.join('\n')))
    bodies[n] = fitted(after, room, title).join('\n')
  }
  const { requests, corrections, files, commands, errors, turns, answer } = gathered
  const [first] = requests
  const last = requests.at(-1)
  if (first !== undefined && places.has(titleKey('Session Title')))
    change('Session Title', (lines) => (lines.length > 0 ? lines : [short(first.replace(/^[\s#>*_`~+-]+/, ''), 80)]))
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

function added(lines: readonly string[], items: readonly string[]): string[] {
  const known = new Set(lines)
  const fresh = new Set(items.map((item) => `- ${item}`).filter((line) => !known.has(line)))
  return [...lines, ...fresh]
}

const FILE = /^- (.+) \(((?:read|edited|written)(?:, (?:read|edited|written))*)\)$/

function withFiles(lines: readonly string[], files: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return renewed(lines, FILE, files, (file, how, before) => {
    const all = new Set([...(before?.split(', ') ?? []), ...how])
    return `- ${file} (${['written', 'edited', 'read'].filter((each) => all.has(each)).join(', ')})`
  })
}

const COMMAND = /^- (`[^`]+`)(?: \((\d{1,9}) times\))?$/

function withCommands(lines: readonly string[], commands: ReadonlyMap<string, number>): string[] {
  return renewed(lines, COMMAND, commands, (command, times, before) => {
    const all = times + (before === undefined ? 0 : Number(before || '1'))
    return `- ${command}${all > 1 ? ` (${all} times)` : ''}`
  })
}

/** The latest stands last. `before`: the second group of the pattern in the old line. */
function renewed<T>(
  lines: readonly string[],
  pattern: RegExp,
  news: ReadonlyMap<string, T>,
  lineOf: (name: string, value: T, before: string | undefined) => string,
): string[] {
  const known = new Map<string, string>()
  const others = lines.filter((line) => {
    const [, name = '', before = ''] = pattern.exec(line) ?? []
    if (news.has(name)) known.set(name, before)
    return !news.has(name)
  })
  return [...others, ...[...news].map(([name, value]) => lineOf(name, value, known.get(name)))]
}

function workOf({ at, asked, calls, changed }: Turn): string {
  const when = at === null ? '' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} `
  const did = calls === 0 ? 'answered' : `${calls} tool ${calls === 1 ? 'call' : 'calls'}`
  const files = changed.size === 0 ? '' : `, changed ${short([...changed].join(', '), 160)}`
  return `${when}${asked.trim() === '' ? 'went on' : short(asked, 100)}: ${did}${files}`
}

const CONDENSED_CHARS = 70

/** The first line is kept. Of requests the older ones are shortened before any goes. */
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

type Deed = { file: string; how: 'read' | 'edited' | 'written' } | { command: string }

const PATHS = ['file_path', 'filePath', 'absolute_path', 'notebook_path', 'path', 'filename']
const EDITS = /edit|replace|patch|insert/
const WRITES = /write|create/
const READS = /read|view|open|cat/
const PATCHED = /^\*\*\* (Add|Update|Delete) File: (.+)$/gm

function deedsOf({ name, input }: ToolCall): Deed[] {
  const tool = (name.split('.').at(-1) ?? '').toLowerCase()
  const patched = [...input.matchAll(PATCHED)].map(
    ([, what, file = '']): Deed => ({ file: file.trim(), how: what === 'Add' ? 'written' : 'edited' }),
  )
  if (patched.length > 0) return patched
  if (isShellTool(name)) return input.trim() === '' ? [] : [{ command: input.trim() }]
  const how = EDITS.test(tool) ? 'edited' : WRITES.test(tool) ? 'written' : READS.test(tool) ? 'read' : undefined
  const file = how && pathIn(input)
  return how && file !== undefined ? [{ file, how }] : []
}

function pathIn(input: string): string | undefined {
  const fields = parseJson(input) as Record<string, unknown> | null | undefined
  const path = PATHS.map((key) => fields?.[key]).find((value) => typeof value === 'string' && value !== '')
  return typeof path === 'string' && !path.includes('\n') ? path : undefined
}

const FAILED_TOOL =
  /^\s*(?:<tool_use_error>|error:|failed to\b|file (?:does not exist|not found)|string to replace not found)/i
const EXIT = /\b(?:exit(?:ed with)?(?: status)?(?: code)?|returned)[: ]{1,2}([1-9]\d{0,2})\b/i
const ERROR =
  /(?:^|[\s[(:])(?:error|fatal|panic|exception|failure|failed|traceback|cannot|can't|could not|command not found|no such file|permission denied|undefined reference|segmentation fault)\b|^E\s{2,}\S|\b[A-Z]\w*(?:Error|Exception)\b|\bE[A-Z]{4,}\b:|\berror(?:\[\w+\]| TS\d+)/i
/** A count of nothing, a name in a list, a line that says that all is well. */
const NO_ERROR =
  /\b(?:0|no|without) (?:errors?|failures?|failed)\b|\b(?:errors?|failed|failures?)[:=]? 0\b|^found \d+ errors?\b|^\s*(?:✓|✔|ok\b|PASS\b)/i

const LOOKED_LINES = 2_000
const MOST_ERRORS = 3

/** Only shell output is searched: files that other tools show may contain any error message. */
export function errorsIn(result: string, ofShell: boolean): string[] {
  const text = result.trim()
  if (!ofShell) {
    const [first = ''] = text
      .replace(/<\/?tool_use_error>/g, '')
      .trim()
      .split('\n')
    return FAILED_TOOL.test(text) ? [first] : []
  }
  const exit = EXIT.exec(text.slice(0, 400))
  const lines = text.split('\n').map((line) => line.trim())
  if (lines.length > LOOKED_LINES) lines.splice(LOOKED_LINES / 2, lines.length - LOOKED_LINES)
  const found = lines.filter((line) => line.length < 1_000 && ERROR.test(line) && !NO_ERROR.test(line))
  const told = [...new Set(found)].slice(0, MOST_ERRORS)
  return told.length === 0 && exit ? [`exit code ${exit[1]}`] : told
}

/** Paths, names of files, code in backticks, options, links, numbers, names with a capital or an underscore within. */
const IDENTIFIERS =
  /`[^`\n]{1,120}`|https?:\/\/[^\s)>\]]{1,300}|(?:[\w.@~-]{0,80}\/){1,20}[\w.@-]{1,80}|\b[\w-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,9}\b|--?[A-Za-z][\w-]{1,60}(?:=[^\s,;]{1,60})?|\b[A-Za-z]\w{0,60}(?:_\w{1,60}|[a-z][A-Z]\w{0,60})|#?\b\d[\d.,:%/-]{0,40}\w{0,12}/g

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

export function short(text: string, chars: number): string {
  const line = oneLine(text)
  if (line.length <= chars) return line
  const cut = line.slice(0, chars).replace(/[\ud800-\udbff]$/, '')
  const space = cut.lastIndexOf(' ')
  return `${space > chars * 0.7 ? cut.slice(0, space) : cut}…`
}

export function shortWithNames(text: string, chars: number, namesChars: number): string {
  const line = oneLine(text)
  const head = short(line, chars)
  if (head === line) return line
  const rest = line.slice(head.length - 1)
  const found = new Set<string>()
  let room = namesChars
  for (const [name] of rest.slice(0, 50_000).matchAll(IDENTIFIERS)) {
    const plain = name.replace(/[.,:/-]+$/, '')
    if (plain.length < 2 || found.has(plain) || head.includes(plain)) continue
    room -= plain.length + 2
    if (room < 0) break
    found.add(plain)
  }
  return found.size === 0 ? head : `${head} [${[...found].join(', ')}]`
}
