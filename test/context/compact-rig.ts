/** Compaction over a real core, with given notes and given answers of a model. */
import { createCompaction, createCompactionGuards, type Wanted } from '../../daemon/context/compact.ts'
import { flatten } from '../../daemon/context/messages.ts'
import type { Answered, Notes, Question, Summariser } from '../../daemon/context/summariser.ts'
import { createCounter, roomOf } from '../../daemon/context/token-count.ts'
import type { Core } from '../../daemon/core.ts'
import { testCore } from '../support/core.ts'

export const counter = createCounter()

export type RigOptions = {
  notes?: () => Partial<Notes> | undefined
  /** What the user's own command says. */
  instructions?: string
  /** Without any there is no model. */
  answers?: (Answered | ((question: Question) => Answered | Promise<Answered>))[]
  window?: number
  /** Of a rig before: guards remember what it did. */
  core?: Core
}

export async function compactRig({ answers, window = 200_000, notes, instructions = '', core }: RigOptions = {}) {
  const made = core ? undefined : await testCore()
  const own = core ?? (made as { core: Core }).core
  const asked: Question[] = []
  const queue = [...(answers ?? [])]
  const summariser: Summariser = {
    notesOf: () => {
      const found = notes?.()
      return found && { text: '', lastMessageId: '', before: () => [], ...found }
    },
    isOnline: () => answers !== undefined,
    transcript: async () => undefined,
    instructions: async () => instructions,
    ask: async (_conversation, question) => {
      asked.push(question)
      const next = queue.length > 1 ? queue.shift() : queue[0]
      return typeof next === 'function' ? next(question) : (next as Answered)
    },
  }
  const run = createCompaction(own, counter, createCompactionGuards(own), summariser)
  const signal = new AbortController().signal
  const compact = (messages: readonly unknown[], more: Partial<Wanted> = {}, sessionId = 's') =>
    run({ key: { harness: 'generic', sessionId }, cwd: '/project', source: 'given' }, flatten(messages), {
      trigger: 'auto',
      preview: false,
      room: roomOf(window, {}),
      signal,
      ...more,
    })
  return { compact, asked, core: own, pass: (ms: number) => made?.time.pass(ms) }
}

export const summary = (text: string): Answered => ({
  text: `<analysis>thinking</analysis>\n<summary>\n${text}\n</summary>`,
})
