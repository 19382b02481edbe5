/** What persons state in a part of a session, found by rules, and saved as a whole. Works without a model. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Evidence } from '../memory/journal.ts'
import type { Clock } from '../platform/clock.ts'
import type { Along, Kept, Slice } from './extraction.ts'
import { localStamp, type Reading, timesOf, type Word } from './session-words.ts'
import type { Statement } from './statements.ts'

type Found = Pick<Statement, 'type' | 'name' | 'description' | 'body'> & { reason: string; evidence: Evidence[] }
type Saved = { runId: string; saved: string[]; waiting: number; known: number; refused: number } | 'lost'

type Deps = {
  reading: Reading
  save: (run: {
    cwd: string
    memories: readonly Found[]
    logDay: string | undefined
    along: (files: string[]) => Along
    mayWrite: () => boolean
  }) => Promise<Saved>
  /** Whether memories go into the log of the day. */
  isLogging: () => boolean
  clock: Pick<Clock, 'now'>
}

export function createByRules({ reading, save, isLogging, clock }: Deps) {
  let rules: ReturnType<typeof load> | undefined
  // Loaded with the first words there are: its patterns would cost every start.
  const load = async () => {
    const { statementsIn, readied } = await import('./statements.ts')
    for (const _ of readied()) await turn()
    return statementsIn
  }

  const statedIn = async (words: AsyncIterable<Word>, part: Slice['part'], sessionId: string): Promise<Found[]> => {
    const timeOf = timesOf(part, clock.now())
    const found: Found[] = []
    for await (const { message: spoken, text, previousAssistant, minutesEast } of words) {
      rules ??= load()
      const statementsIn = await rules
      await turn()
      const saidMs = timeOf(spoken)
      const at = new Date(saidMs).toISOString()
      const stated = statementsIn({ text, atIso: localStamp(saidMs, minutesEast), previousAssistant })
      for (const { type, name, description, body, quote, cues } of stated) {
        const evidence = [{ sessionId, messageIds: [spoken.uid], excerpt: quote, at }]
        found.push({ type, name, description, body, reason: `a person stated it (${cues.join(', ')})`, evidence })
      }
    }
    return found
  }

  const dayOf = (part: Slice['part']) => {
    const last = part.at(-1)
    return localStamp(last ? timesOf(part, clock.now())(last) : clock.now()).slice(0, 10)
  }

  return async ({ key, row, cwd, part, signal, wroteItself, along, mayWrite }: Slice): Promise<Kept> => {
    const memories = await statedIn(reading.words(row, part, signal), part, key.sessionId)
    if (memories.length === 0) return { skip: 'nothing is stated in it' }
    // Two who keep the same turn would keep it twice.
    if (await wroteItself()) return { skip: 'the agent wrote memories itself' }
    const logDay = isLogging() ? dayOf(part) : undefined
    const saved = await save({ cwd, memories, logDay, along, mayWrite })
    if (saved === 'lost') return { notDone: { retry: 'somebody else is at it' } }
    const { runId, saved: files, waiting, known, refused } = saved
    return { runId, counts: { saved: files.length, waiting, known, refused } }
  }
}

export function byHand(kept: Kept): Kept {
  return 'notDone' in kept ? kept : { ...kept, by: 'rules' }
}
