/** Hooks on their own, with everything they need in memory, and every recorded hook input. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fields } from '../../daemon/hooks/harnesses.ts'
import { createHooks, type HookDeps } from '../../daemon/hooks/hooks.ts'
import type { Letter } from '../../daemon/hooks/mail-part.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { injectedBlock, stripInjected } from '../../daemon/transcripts/injected.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/hooks')

export const CALLER = { actor: 'agent:test', env: {} }

export function recordedHooks(): { harness: string; name: string; input: Fields }[] {
  return readdirSync(FIXTURES).flatMap((harness) =>
    readdirSync(join(FIXTURES, harness), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => ({ harness, name, input: JSON.parse(readFileSync(join(FIXTURES, harness, name), 'utf8')) })),
  )
}

export function makeHooks(over: Partial<HookDeps> = {}) {
  const happened: string[] = []
  const letters: Letter[] = []
  const deps: HookDeps = {
    offBecause: () => undefined,
    memoryPrompt: async () => 'PROMPT',
    recall: async ({ query }) => ({ text: injectedBlock(`RECALLED for ${query}`) }),
    recallAgain: async () => ({ text: injectedBlock('RECALLED AGAIN') }),
    readAhead: (cwd) => void happened.push(`reads ahead ${cwd}`),
    notesOf: () => 'NOTES',
    mailFor: async () => letters,
    acknowledge: (_session, ids) => void happened.push(`acknowledged ${ids.join(',')}`),
    forgets: ({ sessionId }) => void happened.push(`forgets ${sessionId}`),
    mark: injectedBlock,
    unmark: stripInjected,
    follow: (path) => void happened.push(`read ${path}`),
    ended: (path) => void happened.push(`ended ${path}`),
    seen: (harness) => void happened.push(`seen ${harness}`),
    deadlineMs: () => 250,
    clock: { ...createClock(), after: (_ms, _task) => ({ stop: () => {} }) },
    ...over,
  }
  const hooks = createHooks(deps)
  const say = async (harness: string, input: Fields) => {
    const said = await hooks.answer(harness, input, CALLER)
    said?.onSent?.()
    return said?.text
  }
  return { hooks, say, happened, letters }
}

/** What the model is told of what is printed. */
export function contextIn(printed: string | undefined): string {
  if (printed === undefined) return ''
  const { hookSpecificOutput, text } = JSON.parse(printed) as {
    hookSpecificOutput?: { additionalContext: string }
    text?: string
  }
  return hookSpecificOutput?.additionalContext ?? text ?? ''
}
