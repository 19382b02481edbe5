/** Text of a configuration file → frozen settings, or every problem with its place and what was expected. Pure. */
import { join } from 'node:path'
import type { z } from 'zod'
import type { Environment } from '../../schema/rendezvous.ts'
import { Settings } from './settings.ts'

type Around = { env: Environment; home: string }

export function parseSettings(text: string, around: Around): { settings: Settings } | { problems: string[] } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problems: [syntaxProblem(text, error as SyntaxError)] }
  }
  // Read once per change: compiling a validator first takes longer than doing without.
  const result = Settings.safeParse(value, { jitless: true })
  if (!result.success) return { problems: describeIssues(result.error.issues, value) }
  return { settings: deepFreeze(applyEnvironment(result.data, value, around)) }
}

/** `CLAUDE_CONFIG_DIR` moves the default root of Claude Code; a root the file names stays. `~/` is the user's home. */
function applyEnvironment(settings: z.output<typeof Settings>, file: unknown, { env, home }: Around) {
  const expand = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : path)
  const named = (file as { roots?: object }).roots ?? {}
  const claude = env.CLAUDE_CONFIG_DIR
  const roots = { ...settings.roots }
  if (claude && !('claude-code' in named)) roots['claude-code'] = [join(claude, 'projects')]
  for (const harness of Object.keys(roots) as (keyof typeof roots)[]) roots[harness] = roots[harness].map(expand)
  const { apiKeyFile } = settings.model
  const model = { ...settings.model, apiKeyFile: apiKeyFile && expand(apiKeyFile) }
  return { ...settings, roots, model, private: settings.private.map(expand) }
}

const MOST_PROBLEMS = 10

function describeIssues(issues: readonly z.core.$ZodIssue[], root: unknown): string[] {
  const lines = issues.flatMap((issue) => describeIssue(issue, root).split('\n'))
  const more = lines.length - MOST_PROBLEMS
  return more > 0 ? [...lines.slice(0, MOST_PROBLEMS), `and ${more} more`] : lines
}

function describeIssue(issue: z.core.$ZodIssue, root: unknown): string {
  const place = issue.path.map(String).join('.') || 'the whole file'
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(issue.path)
    return issue.keys
      .map((key) => `${[...issue.path, key].map(String).join('.')}: unknown key; expected one of ${known.join(', ')}`)
      .join('\n')
  }
  const expectation = issue.message.replace(/^Invalid (input|option|string): /, '').replace(/, received .*$/, '')
  return `${place}: ${expectation}, got ${show(valueAt(root, issue.path))}`
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  let schema: Inner = Settings
  for (const key of path) {
    const { shape, element, valueType } = unwrap(schema)
    schema = (shape?.[String(key)] ?? element ?? valueType) as Inner
  }
  return Object.keys(unwrap(schema).shape ?? {})
}

/** Of the schema of an object, a list, a table, or of a wrapper around one. */
type Inner = { shape?: Record<string, unknown>; element?: unknown; valueType?: unknown; unwrap?: () => unknown }

/** Sections sit inside a wrapper that fills in a missing one. A list has the method `unwrap`, too. */
function unwrap(schema: Inner): Inner {
  const { shape, element, valueType } = schema
  return shape || element || valueType || !schema.unwrap ? schema : unwrap(schema.unwrap() as Inner)
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], root)
}

function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'nothing')
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function syntaxProblem(text: string, error: SyntaxError): string {
  const before = text.slice(0, mistakeAt(text)).split('\n')
  const what = error.message.replace(/ in JSON at position.*$/s, '').replace(/, (\.\.\.)?".*" is not valid JSON$/s, '')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: not valid JSON (${what})`
}

/** The parser does not always say where it stumbled, so it is asked how much of the text it takes as a beginning. */
function mistakeAt(text: string): number {
  let sound = 0
  let broken = text.length + 1
  while (broken - sound > 1) {
    const middle = (sound + broken) >> 1
    if (isBeginning(text.slice(0, middle))) sound = middle
    else broken = middle
  }
  return sound
}

function isBeginning(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as SyntaxError
    const position = /at position (\d+)/.exec(message)?.[1]
    return /end of JSON|Unterminated/.test(message) || (position !== undefined && Number(position) >= text.length)
  }
}

function deepFreeze<T extends object>(value: T): T {
  for (const child of Object.values(value)) if (typeof child === 'object' && child !== null) deepFreeze(child)
  return Object.freeze(value)
}
