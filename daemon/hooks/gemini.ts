/** The hooks of Gemini CLI. Pure. */
import { asContext } from './claude-code.ts'
import { type Harness, text } from './hook.ts'

export const gemini: Harness = {
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
