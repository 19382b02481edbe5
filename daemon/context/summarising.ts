/**
 * Has a model summarise: asks again when nothing usable comes back, tells less when it was too much. Knows how to ask,
 * not whom.
 */
import type { Message } from './message.ts'
import { tooLong, withoutOldest } from './rounds.ts'
import { readSummary, type Scope, summaryTask } from './summary-task.ts'

/** What came of one question. `cut`: the answer was longer than it may be. */
export type Answered = { text: string; cut?: boolean } | { failed: 'none' | 'stopped' | 'other'; message: string }

/** `shortened`: only a part, so not what the session's jobs share any more. */
export type Question = { messages: readonly Message[]; task: string; shortened: boolean; signal: AbortSignal }

export type Ask = (question: Question) => Promise<Answered>

/** `none`: there is no model to ask just now. */
export type Summarised =
  | { summary: string; calls: number }
  | { failed: 'none' | 'stopped' | 'too-long' | 'unusable' | 'other'; message: string }

const RETRIES = 2
const SHORTENINGS = 3

export function createSummarising(ask: Ask) {
  return async (
    given: readonly Message[],
    { scope, instructions, signal }: { scope: Scope; instructions: string; signal: AbortSignal },
  ): Promise<Summarised> => {
    const task = summaryTask({ scope, instructions })
    let messages = given
    let shortenings = 0
    let calls = 0
    for (let retries = 0; ; ) {
      const answer = await ask({ messages, task, shortened: shortenings > 0 || scope !== 'all', signal })
      calls++
      if ('failed' in answer) {
        const gap = answer.failed === 'other' ? tooLong(answer.message) : undefined
        if (!gap) return answer
        const fewer = shortenings < SHORTENINGS ? withoutOldest(messages, gap.gapTokens) : undefined
        if (!fewer)
          return {
            failed: 'too-long',
            message: `the conversation is too long to be summarised, even without its oldest part: ${answer.message}`,
          }
        shortenings++
        messages = fewer
        continue
      }
      const read = answer.cut ? ({ unusable: 'cut' } as const) : readSummary(answer.text)
      if ('summary' in read) return { summary: read.summary, calls }
      if (retries++ >= RETRIES)
        return {
          failed: 'unusable',
          message: `the model gave no whole summary in ${calls} attempts (${read.unusable})`,
        }
    }
  }
}
