/** The harnesses: what their hooks come down to, in which form each is answered, and which of them are connected. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, HOOK_MARK } from '../../schema/hook.ts'
import type { Core } from '../core.ts'
import type { Timer } from '../platform/clock.ts'
import { filesIn } from '../platform/files.ts'
import { parseJson } from '../platform/json.ts'
import { type Fields, text } from '../transcripts/formats/fields.ts'

export type HookEvent =
  /** `cleared` and `compacted`: what the session was told before is gone. */
  | { event: 'session-start'; how: 'begun' | 'resumed' | 'cleared' | 'compacted' }
  /** `by`: `other` is a sub-agent, or something that happened; no memories are recalled then. */
  | { event: 'prompt'; prompt: string; by: 'person' | 'other' }
  | { event: 'tool-used' | 'turn-end' | 'before-compaction' | 'session-end' }

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
  events: ReadonlyMap<unknown, HookEvent['event']>
  /** How a session begins, by the source that its hook names; `begun` for every other one. */
  starts: ReadonlyMap<unknown, 'resumed' | 'cleared' | 'compacted'>
  /** A prompt that no person wrote: the harness reports a task that was done in the background. */
  notification?: RegExp
  /** What to print so that the model is told the text; nothing where the harness would not tell it. */
  print(hook: Hook, input: Fields, text: string): string | undefined
  /** Whether it puts the index of the memories before its model by itself. */
  index: 'own' | 'ours'
  /** More than so many UTF-16 units it cuts, or shows a preview of. */
  capUnits: number
}

const LONGEST_ID = 4_096

/** Lenient with all but what is used: clients drift from version to version. */
export function readHook(harness: Harness, input: Fields): Hook | undefined {
  const bySubAgent = text(input.agent_id) !== ''
  const event = eventOf(harness, input, bySubAgent)
  const sessionId = text(input.session_id)
  const cwd = text(input.cwd)
  if (!event || sessionId === '' || sessionId.length > LONGEST_ID || !isPath(cwd)) return undefined
  const path = text(input.agent_transcript_path) || text(input.transcript_path)
  return { ...event, sessionId, cwd, transcriptPath: isPath(path) ? path : undefined, bySubAgent }
}

function isPath(path: string): boolean {
  return path.startsWith('/') && !path.includes('\0')
}

function eventOf({ events, starts, notification }: Harness, input: Fields, bySubAgent: boolean): HookEvent | undefined {
  const event = events.get(input.hook_event_name)
  if (event === 'session-start') return { event, how: starts.get(input.source) ?? 'begun' }
  if (event !== 'prompt') return event && { event }
  const prompt = text(input.prompt)
  return { event, prompt, by: notification?.test(prompt) || bySubAgent ? 'other' : 'person' }
}

const TAKES_CONTEXT = new Set(['session-start', 'prompt', 'tool-used'])

/** Printed at the end of a turn it would make the model go on; the other events print nothing that a model reads. */
function asContext({ event }: HookEvent, input: Fields, additionalContext: string): string | undefined {
  if (!TAKES_CONTEXT.has(event)) return undefined
  const hookSpecificOutput = { hookEventName: text(input.hook_event_name), additionalContext }
  return `${JSON.stringify({ hookSpecificOutput })}\n`
}

const claudeCode: Harness = {
  name: 'claude-code',
  events: new Map([
    ['SessionStart', 'session-start'],
    ['UserPromptSubmit', 'prompt'],
    ['PostToolUse', 'tool-used'],
    ['Stop', 'turn-end'],
    ['SubagentStop', 'turn-end'],
    ['PreCompact', 'before-compaction'],
    ['SessionEnd', 'session-end'],
  ]),
  starts: new Map([
    ['resume', 'resumed'],
    ['clear', 'cleared'],
    ['compact', 'compacted'],
  ]),
  notification: /^\s*<task-notification>/,
  // What is printed before a compaction goes into the instructions for the summary, as it is.
  print: (hook, input, text) => (hook.event === 'before-compaction' ? text : asContext(hook, input, text)),
  index: 'own',
  capUnits: 10_000,
}

const codex: Harness = {
  ...claudeCode,
  name: 'codex',
  print: asContext,
  index: 'ours',
  // About 10 KB: with other letters than ours that is fewer units.
  capUnits: 9_000,
}

const gemini: Harness = {
  name: 'gemini',
  events: new Map([
    ['SessionStart', 'session-start'],
    ['BeforeAgent', 'prompt'],
    ['AfterTool', 'tool-used'],
    ['AfterAgent', 'turn-end'],
    // It tells its model nothing of what is printed here; what must not get lost comes with the next prompt.
    ['PreCompress', 'before-compaction'],
    ['SessionEnd', 'session-end'],
  ]),
  starts: new Map([
    ['resume', 'resumed'],
    ['clear', 'cleared'],
  ]),
  print: asContext,
  index: 'ours',
  capUnits: 10_000,
}

const pi: Harness = {
  name: 'pi',
  events: new Map([
    ['session_start', 'session-start'],
    ['before_agent_start', 'prompt'],
    ['agent_end', 'turn-end'],
    ['session_before_compact', 'before-compaction'],
    ['session_shutdown', 'session-end'],
  ]),
  starts: new Map([
    ['new', 'cleared'],
    ['resume', 'resumed'],
    ['fork', 'resumed'],
  ]),
  // Its extension is answered with the text alone, which it puts before its model.
  print: ({ event }, _input, text) =>
    event === 'session-start' || event === 'prompt' ? `${JSON.stringify({ text })}\n` : undefined,
  index: 'ours',
  capUnits: 10_000,
}

export const harnesses: readonly Harness[] = [claudeCode, codex, gemini, pi]

const WRITE_MS = 2_000

/** When a hook of each harness was last seen: known at once, written soon, so that no hook waits for the disk. */
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
  const notes = filesIn(join(stateDir, 'connections')).filter((path) => path.endsWith('.json'))
  const connections = notes.flatMap((path) => Connection.safeParse(parseJson(textOf(path))).data ?? [])
  return new Set(connections.flatMap(({ harness, file }) => (textOf(file).includes(HOOK_MARK) ? [harness] : [])))
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
