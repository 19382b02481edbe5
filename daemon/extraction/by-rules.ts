/** What persons state in a part of a session, found by rules and saved as a whole. Works without a model. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Core } from '../core.ts'
import type { NewMemory } from '../memory/change-run.ts'
import type { Memory } from '../memory/memory.ts'
import type { MessageTable } from '../sessions/message-table.ts'
import type { Kept, Slice } from './extraction.ts'
import { dayOfPart, localStamp, timesOf, wordsIn } from './session-words.ts'

export const LOST = { failed: 'another run has taken it over' }

export function createByRules({ settings, clock }: Core, sessions: MessageTable, memory: Memory) {
  let rules: ReturnType<typeof load> | undefined
  // Loaded with the first words there are: compiling the patterns would cost every start.
  const load = async () => {
    const { statementsIn, compilePatterns } = await import('./statements.ts')
    for (const _ of compilePatterns()) await turn()
    return statementsIn
  }

  const statedIn = async ({ row, part, key, signal }: Slice): Promise<NewMemory[]> => {
    const timeOf = timesOf(part, clock.now())
    const found: NewMemory[] = []
    for await (const { message, text, previousAssistant, minutesEast } of wordsIn(sessions, row, part, signal)) {
      rules ??= load()
      const statementsIn = await rules
      await turn()
      const saidMs = timeOf(message)
      const at = new Date(saidMs).toISOString()
      const stated = statementsIn({ text, atIso: localStamp(saidMs, minutesEast), previousAssistant })
      for (const { type, name, description, body, quote, cues } of stated) {
        const evidence = [{ sessionId: key.sessionId, messageIds: [message.uid], excerpt: quote, at }]
        found.push({ type, name, description, body, reason: `a person stated it (${cues.join(', ')})`, evidence })
      }
    }
    return found
  }

  return async (slice: Slice): Promise<Kept> => {
    const memories = await statedIn(slice)
    if (memories.length === 0) return { skip: 'nothing is stated in it' }
    // Two that keep the same turn would keep it twice.
    if (await slice.wroteItself()) return { skip: 'the agent wrote memories itself' }
    const { cwd, part, mayWrite, inTransaction } = slice
    const logDay = settings.current().dailyLog.enabled ? dayOfPart(part, clock.now()) : undefined
    const saved = await memory.save({ ...{ kind: 'extract', env: {}, cwd, memories, logDay, mayWrite, inTransaction } })
    if (saved === 'lost') return { notDone: LOST }
    const { runId, saved: files, waiting, known, refused } = saved
    return { runId, counts: { saved: files.length, waiting, known, refused } }
  }
}
