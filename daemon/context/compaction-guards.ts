/** What keeps a session from being compacted over and over: a breaker after failures, and a guard against doing it again at once. */
import { hash } from 'node:crypto'
import type { Db } from '../db/database.ts'
import { type Message, textsOf } from './messages.ts'
import { isSummary } from './summary.ts'

const FAILURES = 3
const CAP_SESSIONS = 1_000

type Known = { failures: number; summary: string | undefined; answers: number }

/** Where it is remembered beyond this process. */
export type GuardRecords = { find(session: string): Known | undefined; put(session: string, known: Known): void }

export type Guards = {
  /** Why this list of this session is not compacted now, if so. */
  refusal(
    session: string,
    messages: readonly Message[],
    trigger: 'auto' | 'manual',
  ): { reason: 'breaker' | 'thrash'; message: string } | undefined
  failed(session: string): void
  compacted(session: string, result: readonly Message[]): void
}

export function createGuards(records: GuardRecords): Guards {
  const known = new Map<string, Known>()
  const nameOf = (session: string) => hash('sha256', session)
  const of = (session: string): Known =>
    known.get(session) ?? records.find(nameOf(session)) ?? { failures: 0, summary: undefined, answers: 0 }
  const note = (session: string, state: Known) => {
    known.delete(session)
    known.set(session, state)
    if (known.size > CAP_SESSIONS) known.delete(known.keys().next().value as string)
    try {
      records.put(nameOf(session), state)
    } catch {
      // The disk is full: whoever is here knows it, and nobody waits for a compaction because of that.
    }
  }
  return {
    refusal: (session, messages, trigger) => {
      const { failures, summary, answers } = of(session)
      if (trigger === 'auto' && failures >= FAILURES)
        return { reason: 'breaker', message: `${failures} compactions of this session failed in a row` }
      if (summary !== undefined && summaryIn(messages) === summary && answersIn(messages) <= answers)
        return { reason: 'thrash', message: 'this session was compacted just now, and nothing was answered since' }
      return undefined
    },
    failed: (session) => {
      const before = of(session)
      note(session, { ...before, failures: before.failures + 1 })
    },
    compacted: (session, result) => {
      note(session, { failures: 0, summary: summaryIn(result), answers: answersIn(result) })
    },
  }
}

function answersIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'assistant').length
}

function summaryIn(messages: readonly Message[]): string | undefined {
  const text = messages.flatMap(textsOf).findLast(isSummary)
  return text === undefined ? undefined : hash('sha256', text)
}

/** What became of the last compactions of each session, so that a restart forgets neither failures nor what was done just now. */

/** `failures`: in a row. `summary`: SHA-256 of the last one. `answers`: how many stood beside it. */
export type CompactionState = { failures: number; summary: string | undefined; answers: number }

export type Compactions = {
  find(session: string): CompactionState | undefined
  put(session: string, state: CompactionState, at: number): void
  /** Of sessions that nobody compacted since. */
  expire(beforeMs: number): number
}

export function createCompactions(db: Db): Compactions {
  const find = db.prepare('SELECT failures, summary, answers FROM compactions WHERE session = ?')
  const put = db.prepare(
    `INSERT INTO compactions (session, failures, summary, answers, at) VALUES (@session, @failures, @summary, @answers, @at)
     ON CONFLICT (session) DO UPDATE
     SET failures = excluded.failures, summary = excluded.summary, answers = excluded.answers, at = excluded.at`,
  )
  const expire = db.prepare('DELETE FROM compactions WHERE at < ?')
  return {
    find: (session) => {
      const row = find.get(session) as { failures: number; summary: string | null; answers: number } | undefined
      return row && { ...row, summary: row.summary ?? undefined }
    },
    put: (session, { failures, summary = null, answers }, at) =>
      void put.run({ session, failures, summary, answers, at }),
    expire: (beforeMs) => expire.run(beforeMs).changes,
  }
}
