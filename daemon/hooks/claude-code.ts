/** The hooks of Claude Code. Pure. */
import { type Fields, type Harness, type HookEvent, text } from './hook.ts'

const STARTS: Record<string, 'resumed' | 'cleared' | 'compacted'> = {
  resume: 'resumed',
  clear: 'cleared',
  compact: 'compacted',
}

/** A prompt that nobody wrote: a task that was done in the background tells of itself. */
const NOTIFICATION = /^\s*<task-notification>/

export const claudeCode: Harness = {
  name: 'claude-code',
  eventOf: sharedEventOf,
  print: (hook, input, said) => {
    // What is printed before a compaction are more instructions for the summary, as they are.
    if (hook.event === 'before-compaction') return said
    return asContext(hook, input, said)
  },
  index: 'own',
  capUnits: 10_000,
}

/** Codex has taken over the names of most events and fields. */
export function sharedEventOf(input: Fields): HookEvent | undefined {
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

/** At the end of a turn it would make the model go on: there, and wherever else nobody reads it, nothing is printed. */
export function asContext({ event }: HookEvent, input: Fields, said: string): string | undefined {
  if (!TAKES_CONTEXT.has(event)) return undefined
  const hookSpecificOutput = { hookEventName: text(input.hook_event_name), additionalContext: said }
  return `${JSON.stringify({ hookSpecificOutput })}\n`
}
