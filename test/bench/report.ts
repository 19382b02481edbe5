/** Results → the table for people and the JSON for tracking. Does no I/O. */
import { cpus, loadavg } from 'node:os'
import { type Goal, judge, type Measured, type Row } from './row.ts'

export type Result = { row: Row; outcome: Measured | { failed: string } }

type Line = { name: string; measured: string; goal: string; verdict: string; middle: string; about: string }

const headings: Line = {
  name: 'row',
  measured: 'measured',
  goal: 'goal',
  verdict: 'verdict',
  middle: 'middle rounds',
  about: 'what / yardstick',
}

export function table(results: readonly Result[]): string {
  const lines = [headings, ...results.flatMap(linesOf)]
  const width = (key: keyof Line) => Math.max(...lines.map((line) => line[key].length))
  const columns: [keyof Line, 'left' | 'right'][] = [
    ['name', 'left'],
    ['measured', 'right'],
    ['goal', 'right'],
    ['verdict', 'left'],
    ['middle', 'left'],
    ['about', 'left'],
  ]
  const show = (line: Line) =>
    columns.map(([key, side]) => line[key][side === 'left' ? 'padEnd' : 'padStart'](width(key))).join('  ')
  return lines.map((line) => show(line).trimEnd()).join('\n')
}

function linesOf({ row, outcome }: Result): Line[] {
  const about = row.yardstick ? `${row.what} / ${row.yardstick}` : row.what
  if ('failed' in outcome)
    return [{ name: row.name, measured: '', goal: '', verdict: 'FAILED', middle: '', about: firstLine(outcome.failed) }]
  return Object.entries(row.goals).map(([figureName, goal], n) => {
    const figure = outcome.figures[figureName] ?? { value: Number.NaN }
    const verdict = judge(figure, goal)
    return {
      name: `${row.name} ${figureName}`,
      measured: amount(figure.value, goal),
      goal: bounds(goal),
      verdict: verdict === 'miss' ? 'MISS' : verdict === 'pass' ? 'pass' : '',
      middle: figure.middle ? figure.middle.map((value) => value.toFixed(2)).join('–') : '',
      about: n === 0 ? about : '',
    }
  })
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] as string
}

function bounds(goal: Goal): string {
  const parts = [
    ...(goal.atMost === undefined ? [] : [`≤ ${amount(goal.atMost, goal)}`]),
    ...(goal.atLeast === undefined ? [] : [`≥ ${amount(goal.atLeast, goal)}`]),
  ]
  return parts.join(', ')
}

function amount(value: number, { unit }: Goal): string {
  const text = unit === 'MB' ? value.toFixed(1) : value.toFixed(2)
  return unit === '×' ? `${text}${unit}` : `${text} ${unit}`
}

export function misses(results: readonly Result[]): number {
  const verdicts = results.flatMap(({ row, outcome }) =>
    'failed' in outcome
      ? []
      : Object.entries(row.goals).map(([name, goal]) => judge(outcome.figures[name] ?? { value: Number.NaN }, goal)),
  )
  return verdicts.filter((verdict) => verdict === 'miss').length
}

/** Says where it was measured: only the ratios may be compared between machines. */
export function toJson(results: readonly Result[], { at, pace }: { at: string; pace: string }): string {
  const machine = { node: process.version, platform: `${process.platform} ${process.arch}`, cpus: cpus().length }
  const rows = results.map(({ row: { name, what, yardstick, goals }, outcome }) => {
    if ('failed' in outcome) return { name, what, yardstick, failed: outcome.failed }
    const figures = Object.entries(goals).map(([figure, goal]) => {
      const measured = outcome.figures[figure] ?? { value: Number.NaN }
      return { figure, ...measured, goal, verdict: judge(measured, goal) }
    })
    return { name, what, yardstick, figures, details: outcome.details }
  })
  return `${JSON.stringify({ at, pace, machine: { ...machine, load: loadavg() }, rows }, null, 2)}\n`
}
