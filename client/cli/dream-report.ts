/** What came of a dream, and whether one would start, in lines for people. Pure. */
import type { DreamBegun, DreamReport } from '../../schema/dream.ts'
import { columns } from './context.ts'
import { spentWords } from './dream-view.ts'
import { count } from './numbers.ts'

const OUTCOMES: Record<DreamReport['outcome'], string> = {
  applied: 'was applied',
  nothing: 'found nothing to change',
  review: 'waits for you',
  failed: 'failed, and everything is as it was',
  killed: 'was stopped, and everything is as it was',
}

/** `self`: what somebody types to run this program. */
export function reportLines(report: DreamReport | undefined, self: string): string[] {
  if (!report) return ['there was no dream here yet']
  const { runId, outcome, why, files, undone } = report
  return [
    `${runId} ${undone ? 'was undone since' : OUTCOMES[outcome]}`,
    ...columns([
      ['when', `${stamp(report.beganAt)}, for ${seconds(report)}, ${TRIGGERS[report.trigger]}`],
      ...(why === undefined ? [] : [['why', why] as const]),
      ...(report.created === undefined
        ? []
        : [
            [
              'memories',
              `${report.created} created, ${report.merged} merged, ${report.updated} updated, ${report.removed} removed`,
            ] as const,
          ]),
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

type Index = NonNullable<DreamReport['index']>

function sizes({ before, after }: Index): string {
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

function seconds({ beganAt, endedAt }: DreamReport): string {
  return `${((Date.parse(endedAt) - Date.parse(beganAt)) / 1_000).toFixed(1)} s`
}

function stamp(at: string): string {
  return at.slice(0, 19).replace('T', ' ')
}

export function gateLines(answer: Extract<DreamBegun, { started: false }>): string[] {
  const { gate, why, gates, lastCheck } = answer
  return [
    gate === undefined ? 'one would start now' : `none would start now: ${why}`,
    ...columns(
      gates.map((each) => [each.gate, `${each.why === undefined ? 'open  ' : 'closed'}  ${factsOf(each.facts)}`]),
    ),
    ...(lastCheck
      ? [`last looked at ${stamp(lastCheck.at)}, ${TRIGGERS[lastCheck.trigger]}: ${lastCheck.gate ?? 'all open'}`]
      : []),
  ]
}

function factsOf(facts: Record<string, string | number>): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
