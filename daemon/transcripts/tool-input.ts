/** What a tool was asked to do, as one text: the command of a shell, else compact JSON of bounded size. Pure. */
import { isShellTool } from '../platform/shell-tools.ts'
import { fields, list } from './fields.ts'

const CAP_CHARS = 16_000
const MAX_DEPTH = 8

export function toolInput(name: string, input: unknown): string {
  if (typeof input === 'string') return input
  return (isShell(name, input) && command(input)) || (JSON.stringify(bounded(input)) ?? '')
}

/** Other tools may call one of many fields `command`, and the rest says what for. */
function isShell(name: string, input: unknown): boolean {
  return isShellTool(name) || Object.keys(fields(input)).length === 1
}

function command(input: unknown): string {
  const given = fields(input).command ?? fields(input).cmd
  if (typeof given === 'string') return given
  return list(given)
    .filter((word) => typeof word === 'string')
    .join(' ')
}

/** JSON.stringify knows no limit and runs out of stack on deep values: what is too much is left out before it. */
function bounded(value: unknown): unknown {
  let room = CAP_CHARS
  const take = (words: string): string => {
    const kept = words.slice(0, Math.max(0, room))
    room -= kept.length
    return kept
  }
  const copy = (item: unknown, depth: number): unknown => {
    room -= 4
    if (typeof item === 'string') return take(item)
    if (typeof item !== 'object' || item === null) return item
    if (depth === MAX_DEPTH) return '…'
    const kept: [string, unknown][] = []
    for (const [key, inner] of Object.entries(item)) {
      if (room <= 0) break
      kept.push([Array.isArray(item) ? key : take(key), copy(inner, depth + 1)])
    }
    return Array.isArray(item) ? kept.map(([, inner]) => inner) : Object.fromEntries(kept)
  }
  return copy(value, 0)
}
