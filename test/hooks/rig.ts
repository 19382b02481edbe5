/** Hooks over services that only say what was asked of them, and every recorded hook input. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Core } from '../../daemon/core.ts'
import { createHooks } from '../../daemon/hooks/hooks.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { withUndo } from '../../daemon/recall/given.ts'
import type { Fields } from '../../daemon/transcripts/formats/fields.ts'
import { injectedBlock } from '../../daemon/transcripts/injected.ts'
import type { Mail } from '../../schema/mail.ts'

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

type Over = {
  off?: string
  memoryPrompt?: string
  notes?: string
  recall?: (query: string) => Promise<{ text: string; undo?: () => void }>
  mail?: () => Promise<Mail[]>
  read?: (path: string) => Promise<void>
  after?: (ms: number, task: () => void) => { stop(): void }
}

export function makeHooks(over: Over = {}) {
  const { memoryPrompt = 'PROMPT', notes = 'NOTES', after = () => ({ stop: () => {} }) } = over
  const recall: NonNullable<Over['recall']> =
    over.recall ?? (async (query) => ({ text: injectedBlock(`RECALLED for ${query}`) }))
  const happened: string[] = []
  const letters: Mail[] = []
  const history = new Database(':memory:')
  history.exec('CREATE TABLE hooks_seen (harness TEXT PRIMARY KEY, at INTEGER NOT NULL)')
  const core = {
    clock: { ...createClock(), after },
    settings: { current: () => ({ recall: { hookDeadlineMs: 250 } }) },
    logged: (what: string) => (error: unknown) => void happened.push(`${what}: ${error}`),
    stateDir: '/nowhere',
    db: { history },
  } as unknown as Core
  const services = [
    { find: () => ({ off: over.off }) },
    {
      prompting: {
        prompt: async () => ({ text: memoryPrompt }),
        renew: ({ sessionId }: { sessionId: string }) => void happened.push(`forgets ${sessionId}`),
      },
    },
    {
      hook: async ({ query }: { query: string }) => {
        const { text, undo = () => {} } = await recall(query)
        return withUndo({ text }, undo)
      },
      again: async () => ({ text: injectedBlock('RECALLED AGAIN') }),
      readAhead: (cwd: string) => void happened.push(`reads ahead ${cwd}`),
      reset: () => {},
    },
    { textOf: () => notes },
    {
      ofSession: over.mail ?? (async () => letters),
      acknowledgeOfSession: (_session: string, ids: string[]) => void happened.push(`acknowledged ${ids.join(',')}`),
    },
    { readWritten: over.read ?? (async (path: string) => void happened.push(`read ${path}`)) },
    { enqueue: ({ kind }: { kind: string }) => void happened.push(`enqueued ${kind}`) },
    { session: () => ({ row: 1 }) },
  ] as unknown as Parameters<typeof createHooks> extends [Core, ...infer Rest] ? Rest : never
  const hooks = createHooks(core, ...services)
  const say = async (harness: string, input: Fields) => {
    const printed = await hooks.answer(harness, input, CALLER)
    printed?.onSent?.()
    return printed?.text
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
