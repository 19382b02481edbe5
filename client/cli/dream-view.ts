/** A dream in lines for a terminal: while it runs, what came of it, and whether one would start. Pure. */
import {
  DREAM_TURNS,
  type DreamBegun,
  type DreamLive,
  type DreamReport,
  type DreamTurn,
  type Spent,
} from '../../schema/dream.ts'
import { columns, count } from './context.ts'

export type View = { project: string; live: DreamLive; nowMs: number; asking: boolean }

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
    `turn ${live.turnCount} of ${DREAM_TURNS}`,
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

function turnLines(turns: readonly DreamTurn[], width: number, room: number): string[] {
  const lines = turns.flatMap(({ turn, tools, text }) => {
    const said = text.replace(/\s+/g, ' ').trim()
    const asked = tools.length === 0 ? 'says' : grouped(tools)
    const first = shortened(`${String(turn).padStart(3)}  ${asked}`, width)
    return said === '' ? [first] : [first, shortened(`     ${said}`, width)]
  })
  return lines.length === 0 ? ['  0  reads what there is'] : lines.slice(-room)
}

function grouped(tools: readonly string[]): string {
  const times = new Map<string, number>()
  for (const tool of tools) times.set(tool, (times.get(tool) ?? 0) + 1)
  return [...times].map(([tool, number]) => (number === 1 ? tool : `${tool} ×${number}`)).join(', ')
}

export function spentWords({ calls, input, cacheRead, cacheWrite, output, usd }: Spent): string {
  if (calls === 0) return 'no model asked'
  const all = input + cacheRead + cacheWrite
  const hit = all === 0 ? 0 : Math.round((100 * cacheRead) / all)
  const money = usd === undefined ? 'price unknown' : `$${usd.toFixed(4)}`
  return `${thousands(all)} tokens in (${hit} % from a cache), ${thousands(output)} out, ${money}`
}

function thousands(number: number): string {
  return number < 1_000 ? String(number) : `${(number / 1_000).toFixed(1)}k`
}

function time(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
}

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

const OUTCOMES: Record<DreamReport['outcome'], string> = {
  applied: 'was applied',
  nothing: 'found nothing to change',
  review: 'waits for you',
  failed: 'failed, and everything is as it was',
  killed: 'was stopped, and everything is as it was',
}

export function reportLines(report: DreamReport | undefined, self: string): string[] {
  if (!report) return ['there was no dream here yet']
  const { runId, outcome, why, files, undone } = report
  const seconds = (Date.parse(report.endedAt) - Date.parse(report.beganAt)) / 1_000
  return [
    `${runId} ${undone ? 'was undone since' : OUTCOMES[outcome]}`,
    ...columns([
      ['when', `${stamp(report.beganAt)}, for ${seconds.toFixed(1)} s, ${TRIGGERS[report.trigger]}`],
      ...(why === undefined ? [] : [['why', why] as const]),
      ...(report.created === undefined ? [] : [['memories', changes(report)] as const]),
      ...(report.index ? [['index', sizes(report.index)] as const] : []),
      ...(report.repairs ? [['mended', mended(report.repairs)] as const] : []),
      ...(report.sessions === undefined ? [] : [['about', about(report)] as const]),
      ...(report.spent ? [['model', modelWords(report)] as const] : []),
    ]),
    ...files.flatMap(({ file, op, diff }) => ['', `${op} ${file}`, ...diff.split('\n').map((line) => `  ${line}`)]),
    ...(outcome === 'review' && !undone ? ['', `to approve or to reject it: ${self} review`] : []),
    ...(outcome === 'applied' && !undone ? ['', `to take all of it back: ${self} undo --run ${runId}`] : []),
  ]
}

const TRIGGERS: Record<DreamReport['trigger'], string> = {
  turn: 'after a turn',
  cron: 'by the calendar',
  nightly: 'at night',
  asked: 'asked for by a program',
  person: 'asked for',
}

function changes({ created, merged, updated, removed }: DreamReport): string {
  return `${created} created, ${merged} merged, ${updated} updated, ${removed} removed`
}

function sizes({ before, after }: NonNullable<DreamReport['index']>): string {
  return `${before.lines} → ${after.lines} lines, ${before.bytes} → ${after.bytes} bytes`
}

function mended({ dangling, duplicate, orphan, long }: NonNullable<DreamReport['repairs']>): string {
  return `${count(dangling, 'dead pointer')}, ${duplicate} double, ${orphan} missing, ${count(long, 'long line')}`
}

function about({ sessions = 0, drifted = 0, logs = 0, logsLeft = 0 }: DreamReport): string {
  const left = logsLeft > 0 ? ` (${logsLeft} more next time)` : ''
  return `${count(sessions, 'session')}, ${count(logs, 'daily log')}${left}, ${drifted} that name what is gone`
}

function modelWords({ mode, turns = 0, denials = 0, spent }: DreamReport): string {
  if (mode === 'rules' || !spent) return 'none: done by rules'
  const denied = denials > 0 ? `, ${denials} denied` : ''
  return `${count(turns, 'turn')}${denied}, ${spentWords(spent)}`
}

function stamp(at: string): string {
  return at.slice(0, 19).replace('T', ' ')
}

export function gateLines(answer: Extract<DreamBegun, { started: false }>): string[] {
  const { gate, why, gates, lastCheck } = answer
  return [
    gate === undefined ? 'one would start now' : `none would start now: ${why}`,
    ...columns(gates.map((each) => [each.gate, gateLine(each)])),
    ...(lastCheck
      ? [`last looked at ${stamp(lastCheck.at)}, ${TRIGGERS[lastCheck.trigger]}: ${lastCheck.gate ?? 'all open'}`]
      : []),
  ]
}

function gateLine({ facts, why }: { facts: Record<string, string | number>; why?: string | undefined }): string {
  const words = Object.entries(facts).map(([name, value]) => `${name} ${value}`)
  return `${why === undefined ? 'open  ' : 'closed'}  ${words.join(', ')}`
}
