/** What the extension for pi sends, and what it is answered: only the text, which it puts before its model. Pure. */
import { type Harness, text } from './hook.ts'

const HOW = { new: 'cleared', resume: 'resumed', fork: 'resumed' } as const

export const pi: Harness = {
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
  print: ({ event }, _input, said) =>
    event === 'session-start' || event === 'prompt' ? `${JSON.stringify({ text: said })}\n` : undefined,
  index: 'ours',
  capUnits: 10_000,
}
