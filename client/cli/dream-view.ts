/** A dream that goes on, as lines for a terminal of any width. Pure: what is shown follows from what is given. */
import type { DreamLive, DreamTurn, Spent } from '../../schema/dream.ts'
import { count } from './numbers.ts'

export type View = {
  project: string
  live: DreamLive
  nowMs: number
  /** Ctrl-C was pressed, and somebody has to say what it means. */
  asking: boolean
}

const TURN_LIMIT = 30
const LEAST_COLUMNS = 40
const LEAST_ROWS = 2

export function frame({ project, live, nowMs, asking }: View, size: { columns: number; rows: number }): string[] {
  const width = Math.max(LEAST_COLUMNS, size.columns)
  const cut = (line: string) => shortened(line, width)
  const elapsed = time(Math.max(0, nowMs - Date.parse(live.beganAt)))
  const state = `${live.state === 'running' ? live.phase : live.state}  ${elapsed}`
  const title = shortened(`dream  ${project}`, width - state.length - 2)
  const numbers = [
    count(live.sessions, 'session'),
    `turn ${live.turnCount} of ${TURN_LIMIT}`,
    `${count(live.files.length, 'file')} touched`,
    spentWords(live.spent),
  ]
  const head = [
    `${title}${' '.repeat(Math.max(2, width - length(title) - state.length))}${state}`,
    '-'.repeat(width),
    ...wrapped(numbers, width),
    '',
  ]
  const tail = [
    ...(live.files.length > 0 ? ['', cut(`files: ${live.files.join(', ')}`)] : []),
    ...(live.why === undefined ? [] : ['', cut(live.why)]),
    '',
    cut(footer(live, asking)),
  ]
  const room = Math.max(LEAST_ROWS, size.rows - head.length - tail.length)
  return [...head, ...turnLines(live.turns, width, room), ...tail]
}

function footer({ state }: DreamLive, asking: boolean): string {
  if (state !== 'running') return 'it is over'
  return asking
    ? 'd: leave it running   k: stop it, nothing is changed   any other key: go on'
    : 'Ctrl-C to leave or stop it'
}

/** The newest that there is room for. */
function turnLines(turns: readonly DreamTurn[], width: number, room: number): string[] {
  const lines = turns.flatMap(({ turn, tools, text }) => {
    const said = text.replace(/\s+/g, ' ').trim()
    const asked = tools.length === 0 ? 'says' : grouped(tools)
    const first = shortened(`${String(turn).padStart(3)}  ${asked}`, width)
    return said === '' ? [first] : [first, shortened(`     ${said}`, width)]
  })
  return lines.length === 0 ? ['  0  reads what there is'] : lines.slice(-room)
}

/** `Read ×3, Edit`. */
function grouped(tools: readonly string[]): string {
  const times = new Map<string, number>()
  for (const tool of tools) times.set(tool, (times.get(tool) ?? 0) + 1)
  return [...times].map(([tool, number]) => (number === 1 ? tool : `${tool} ×${number}`)).join(', ')
}

export function spentWords({ calls, input, cacheRead, cacheWrite, output, usd }: Spent): string {
  if (calls === 0) return 'no model asked'
  const all = input + cacheRead + cacheWrite
  const hit = all === 0 ? 0 : Math.round((100 * cacheRead) / all)
  const money = usd === undefined ? 'at a price nobody knows' : `$${usd.toFixed(4)}`
  return `${thousands(all)} tokens in (${hit} % from a cache), ${thousands(output)} out, ${money}`
}

function thousands(number: number): string {
  return number < 1_000 ? String(number) : `${(number / 1_000).toFixed(1)}k`
}

function time(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}

/** As many on a line as there is room for. */
function wrapped(parts: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const joined = lines.length === 0 ? part : `${lines.at(-1)}   ${part}`
    if (lines.length > 0 && length(joined) <= width) lines[lines.length - 1] = joined
    else lines.push(shortened(part, width))
  }
  return lines
}

/** Characters of East Asian scripts take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u

function length(text: string): number {
  let columns = 0
  for (const character of text) columns += WIDE.test(character) ? 2 : 1
  return columns
}

function shortened(text: string, width: number): string {
  if (length(text) <= width) return text
  let kept = ''
  let columns = 1
  for (const character of text) {
    columns += WIDE.test(character) ? 2 : 1
    if (columns > width) break
    kept += character
  }
  return `${kept}…`
}
