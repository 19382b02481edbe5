/** What an agent did with a tool, by the name and input of the call and by what came back: files, commands, errors. Pure. */
import { isShellTool } from '../platform/shell-tools.ts'
import type { Call } from './reading.ts'

export type Deed = { file: string; how: 'read' | 'edited' | 'written' } | { command: string }

const PATHS = ['file_path', 'filePath', 'absolute_path', 'notebook_path', 'path', 'filename']
const EDITS = /edit|replace|patch|insert/
const WRITES = /write|create/
const READS = /read|view|open|cat/
const PATCHED = /^\*\*\* (Add|Update|Delete) File: (.+)$/gm

export function deedsOf({ name, input }: Call): Deed[] {
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
  const fields = asFields(input)
  const path = PATHS.map((key) => fields[key]).find((value) => typeof value === 'string' && value !== '')
  return typeof path === 'string' && !path.includes('\n') ? path : undefined
}

function asFields(input: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(input)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
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

/** The lines in which a result says what went wrong. What files hold is about many errors, and none of them happened. */
export function errorsIn(result: string, ofShell: boolean): string[] {
  const text = result.trim()
  if (!ofShell) return FAILED_TOOL.test(text) ? [firstLine(text.replace(/<\/?tool_use_error>/g, ''))] : []
  const exit = EXIT.exec(text.slice(0, 400))
  const lines = someOf(text.split('\n')).map((line) => line.trim())
  const found = lines.filter((line) => line.length < 1_000 && ERROR.test(line) && !NO_ERROR.test(line))
  const told = [...new Set(found)].slice(0, MOST_ERRORS)
  return told.length === 0 && exit ? [`exit code ${exit[1]}`] : told
}

function someOf(lines: string[]): string[] {
  return lines.length <= LOOKED_LINES ? lines : [...lines.slice(0, LOOKED_LINES / 2), ...lines.slice(-LOOKED_LINES / 2)]
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? ''
}
