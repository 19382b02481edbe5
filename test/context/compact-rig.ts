/** Compaction with everything given: notes, answers of a model, time. The parts that decide are the real ones. */
import { type CompactDeps, createCompaction, type Wanted } from '../../daemon/context/compact.ts'
import { createGuards, type GuardRecords } from '../../daemon/context/compaction-guards.ts'
import { flatten } from '../../daemon/context/messages.ts'
import type { Answered, Question } from '../../daemon/context/summariser.ts'
import { createCounter, roomOf } from '../../daemon/context/token-count.ts'
import { createRestore } from '../../daemon/context/working-set.ts'
import { manualTime } from '../support/clock.ts'

export const counter = createCounter()

export type RigOptions = Partial<Pick<CompactDeps, 'notes' | 'preCompact' | 'onCompacted'>> & {
  /** Without any there is no model. */
  answers?: (Answered | ((question: Question) => Answered | Promise<Answered>))[]
  window?: number
  records?: GuardRecords
}

/** What is remembered of compactions, for as long as the test goes. */
export function memory(): GuardRecords {
  const known = new Map<string, ReturnType<GuardRecords['find']>>()
  return { find: (session) => known.get(session), put: (session, state) => void known.set(session, state) }
}

export function compactRig({ answers, window = 200_000, records = memory(), ...given }: RigOptions = {}) {
  const time = manualTime()
  const asked: Question[] = []
  const compacted: string[] = []
  const errors: unknown[] = []
  const queue = [...(answers ?? [])]
  const run = createCompaction({
    counter,
    guards: createGuards(records),
    clock: time.clock,
    notes: () => undefined,
    isOnline: () => answers !== undefined,
    ask: async (_conversation, question) => {
      asked.push(question)
      const next = queue.length > 1 ? queue.shift() : queue[0]
      return typeof next === 'function' ? next(question) : (next as Answered)
    },
    restore: createRestore({ isClosed: () => false }),
    preCompact: async () => '',
    onCompacted: async ({ session }) => void compacted.push(session),
    onError: (error) => void errors.push(error),
    ...given,
  })
  const signal = new AbortController().signal
  const compact = (messages: readonly unknown[], more: Partial<Wanted> = {}, session = 's') =>
    run({ key: { harness: 'generic', session }, cwd: '/project', source: 'given' }, flatten(messages), {
      trigger: 'auto',
      preview: false,
      room: roomOf(window, {}),
      signal,
      ...more,
    })
  return { compact, asked, compacted, errors, time }
}

export const summary = (text: string): Answered => ({
  text: `<analysis>thinking</analysis>\n<summary>\n${text}\n</summary>`,
})
