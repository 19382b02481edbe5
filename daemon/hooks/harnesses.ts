/** The harnesses: what their hooks come down to, and in which form each of them is answered. Pure. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, HOOK_MARK } from '../../schema/hook.ts'
import type { Core } from '../core.ts'
import type { Timer } from '../platform/clock.ts'

export type Fields = Readonly<Record<string, unknown>>

export type SessionName = { harness: string; sessionId: string }

export type HookEvent =
  /** `cleared` and `compacted`: what the session was told before is gone. */
  | { event: 'session-start'; how: 'begun' | 'resumed' | 'cleared' | 'compacted' }
  /** `by`: `other` is a sub-agent, or something that happened; no memories are recalled then. */
  | { event: 'prompt'; prompt: string; by: 'person' | 'other' }
  | { event: 'tool-used' }
  | { event: 'turn-end' }
  | { event: 'before-compaction' }
  | { event: 'session-end' }

export type Hook = HookEvent & {
  sessionId: string
  cwd: string
  /** Where the harness writes what happened: that of a sub-agent, if it is about one. */
  transcriptPath: string | undefined
  /** Not the agent whose session it is, but one that it sent. */
  bySubAgent: boolean
}

export type Harness = {
  name: string
  /** Which event it is; nothing for those that are none of ours. */
  eventOf(input: Fields): HookEvent | undefined
  /** What to print so that the model is told the text; nothing where the harness would not tell it. */
  print(hook: Hook, input: Fields, text: string): string | undefined
  /** Whether it puts the index of the memories before its model by itself. */
  index: 'own' | 'ours'
  /** More than so many UTF-16 units it cuts, or shows a preview of. */
  capUnits: number
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const LONGEST_ID = 4_096

/** Lenient with all but what is used: clients drift from version to version. */
export function readHook(harness: Harness, input: Fields): Hook | undefined {
  const event = harness.eventOf(input)
  const sessionId = text(input.session_id)
  const cwd = text(input.cwd)
  if (!event || sessionId === '' || sessionId.length > LONGEST_ID || !isPath(cwd)) return undefined
  const path = text(input.agent_transcript_path) || text(input.transcript_path)
  return {
    ...event,
    sessionId,
    cwd,
    transcriptPath: isPath(path) ? path : undefined,
    bySubAgent: text(input.agent_id) !== '',
  }
}

function isPath(path: string): boolean {
  return path.startsWith('/') && !path.includes('\0')
}

const STARTS: Record<string, 'resumed' | 'cleared' | 'compacted'> = {
  resume: 'resumed',
  clear: 'cleared',
  compact: 'compacted',
}

/** A prompt that no person wrote: the harness reports a task that was done in the background. */
const NOTIFICATION = /^\s*<task-notification>/

const claudeCode: Harness = {
  name: 'claude-code',
  eventOf: sharedEventOf,
  // What is printed before a compaction goes into the instructions for the summary, as it is.
  print: (hook, input, text) => (hook.event === 'before-compaction' ? text : asContext(hook, input, text)),
  index: 'own',
  capUnits: 10_000,
}

/** Codex has taken over the names of most events and fields. */
function sharedEventOf(input: Fields): HookEvent | undefined {
  switch (input.hook_event_name) {
    case 'SessionStart':
      return { event: 'session-start', how: STARTS[text(input.source)] ?? 'begun' }
    case 'UserPromptSubmit': {
      const prompt = text(input.prompt)
      const isOther = NOTIFICATION.test(prompt) || text(input.agent_id) !== ''
      return { event: 'prompt', prompt, by: isOther ? 'other' : 'person' }
    }
    case 'PostToolUse':
      return { event: 'tool-used' }
    case 'Stop':
    case 'SubagentStop':
      return { event: 'turn-end' }
    case 'PreCompact':
      return { event: 'before-compaction' }
    case 'SessionEnd':
      return { event: 'session-end' }
  }
  return undefined
}

const TAKES_CONTEXT = new Set(['session-start', 'prompt', 'tool-used'])

/** Printed at the end of a turn it would make the model go on; the other events print nothing that a model reads. */
function asContext({ event }: HookEvent, input: Fields, additionalContext: string): string | undefined {
  if (!TAKES_CONTEXT.has(event)) return undefined
  const hookSpecificOutput = { hookEventName: text(input.hook_event_name), additionalContext }
  return `${JSON.stringify({ hookSpecificOutput })}\n`
}

const codex: Harness = {
  name: 'codex',
  eventOf: sharedEventOf,
  print: asContext,
  index: 'ours',
  // About 10 KB: with other letters than ours that is fewer units.
  capUnits: 9_000,
}

const gemini: Harness = {
  name: 'gemini',
  eventOf: (input) => {
    switch (input.hook_event_name) {
      case 'SessionStart':
        return {
          event: 'session-start',
          how: input.source === 'resume' ? 'resumed' : input.source === 'clear' ? 'cleared' : 'begun',
        }
      case 'BeforeAgent':
        return { event: 'prompt', prompt: text(input.prompt), by: 'person' }
      case 'AfterTool':
        return { event: 'tool-used' }
      case 'AfterAgent':
        return { event: 'turn-end' }
      // It tells its model nothing of what is printed here; what must not get lost comes with the next prompt.
      case 'PreCompress':
        return { event: 'before-compaction' }
      case 'SessionEnd':
        return { event: 'session-end' }
    }
    return undefined
  },
  print: asContext,
  index: 'ours',
  capUnits: 10_000,
}

/** The extension for pi is answered with the text alone, which it puts before its model. */
const HOW = { new: 'cleared', resume: 'resumed', fork: 'resumed' } as const

const pi: Harness = {
  name: 'pi',
  eventOf: (input) => {
    switch (input.hook_event_name) {
      case 'session_start':
        return { event: 'session-start', how: HOW[text(input.source) as keyof typeof HOW] ?? 'begun' }
      case 'before_agent_start':
        return { event: 'prompt', prompt: text(input.prompt), by: 'person' }
      case 'agent_end':
        return { event: 'turn-end' }
      case 'session_before_compact':
        return { event: 'before-compaction' }
      case 'session_shutdown':
        return { event: 'session-end' }
    }
    return undefined
  },
  print: ({ event }, _input, text) =>
    event === 'session-start' || event === 'prompt' ? `${JSON.stringify({ text })}\n` : undefined,
  index: 'ours',
  capUnits: 10_000,
}

export const harnesses: readonly Harness[] = [claudeCode, codex, gemini, pi]

/** Which harnesses are connected, and when a hook of each was last seen: known at once, written soon, so that no hook waits for the disk. */

const WRITE_MS = 2_000

export function createLastSeen({ db, clock, logged }: Core) {
  const list = db.history.prepare('SELECT harness, at FROM hooks_seen')
  const put = db.history.prepare('INSERT OR REPLACE INTO hooks_seen (harness, at) VALUES (?, ?)')
  const known = new Map((list.all() as { harness: string; at: number }[]).map(({ harness, at }) => [harness, at]))
  const unwritten = new Set<string>()
  let timer: Timer | undefined
  const write = (): void => {
    timer?.stop()
    timer = undefined
    try {
      for (const harness of unwritten) put.run(harness, known.get(harness) ?? 0)
      unwritten.clear()
    } catch (error) {
      // They stay for the next time.
      logged('when hooks were seen could not be written')(error)
    }
  }
  return {
    note: (harness: string): void => {
      known.set(harness, clock.now())
      unwritten.add(harness)
      timer ??= clock.after(WRITE_MS, write)
    },
    at: (harness: string): number | undefined => known.get(harness),
    stop: write,
  }
}

/** Those whose settings, as `memoryd connect` noted them, still have a hook of ours. */
export function connectedHarnesses(stateDir: string): Set<string> {
  return new Set(
    noted(join(stateDir, 'connections')).flatMap(({ harness, file }) =>
      textOf(file).includes(HOOK_MARK) ? [harness] : [],
    ),
  )
}

function noted(dir: string): Connection[] {
  let names: string[]
  try {
    names = readdirSync(dir).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
  return names.flatMap((name) => {
    try {
      const found = Connection.safeParse(JSON.parse(textOf(join(dir, name))))
      return found.success ? [found.data] : []
    } catch {
      return []
    }
  })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
