/**
 * What keeps a session from being compacted over and over: a breaker after failures, and a guard against doing it again at
 * once. On disk, so that a restart forgets neither.
 */
import { hash } from 'node:crypto'
import { sessionName } from '../agent/rendering.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { createLru } from '../platform/lru.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import { type Message, textsOf } from './messages.ts'
import { isSummary } from './summary.ts'

const FAILURES = 3
const CAP_SESSIONS = 1_000

/** `failures`: in a row. `summary`: SHA-256 of the last one. `answers`: how many stood beside it. */
type State = { failures: number; summary: string | undefined; answers: number }

type Refusal = { reason: 'breaker' | 'thrash'; message: string }

export function createCompactionGuards({ db, clock }: Core) {
  const table = createCompactionTable(db.history)
  const known = createLru<string, State>(CAP_SESSIONS)
  const nameOf = (key: SessionKey) => hash('sha256', sessionName(key))
  const stateOf = (session: string): State =>
    known.get(session) ?? table.find(session) ?? { failures: 0, summary: undefined, answers: 0 }
  const note = (session: string, state: State) => {
    known.set(session, state)
    try {
      table.put(session, state, clock.now())
    } catch {
      // A full disk is a condition of its own, and no reason to fail a compaction.
    }
  }
  return {
    /** Why this list of this session is not compacted now, if so. */
    refusal: (key: SessionKey, messages: readonly Message[], trigger: 'auto' | 'manual'): Refusal | undefined => {
      const { failures, summary, answers } = stateOf(nameOf(key))
      if (trigger === 'auto' && failures >= FAILURES)
        return { reason: 'breaker', message: `${failures} compactions of this session failed in a row` }
      if (summary !== undefined && summaryIn(messages) === summary && answersIn(messages) <= answers)
        return { reason: 'thrash', message: 'this session was compacted just now, and nothing was answered since' }
      return undefined
    },
    failed: (key: SessionKey) => {
      const before = stateOf(nameOf(key))
      note(nameOf(key), { ...before, failures: before.failures + 1 })
    },
    compacted: (key: SessionKey, result: readonly Message[]) =>
      note(nameOf(key), { failures: 0, summary: summaryIn(result), answers: answersIn(result) }),
    /** Of sessions that were not compacted since. */
    expire: table.expire,
  }
}
export type CompactionGuards = ReturnType<typeof createCompactionGuards>

function answersIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'assistant').length
}

function summaryIn(messages: readonly Message[]): string | undefined {
  const text = messages.flatMap(textsOf).findLast(isSummary)
  return text === undefined ? undefined : hash('sha256', text)
}

function createCompactionTable(db: Db) {
  const find = db.prepare('SELECT failures, summary, answers FROM compactions WHERE session = ?')
  const put = db.prepare(
    `INSERT INTO compactions (session, failures, summary, answers, at) VALUES (@session, @failures, @summary, @answers, @at)
     ON CONFLICT (session) DO UPDATE
     SET failures = excluded.failures, summary = excluded.summary, answers = excluded.answers, at = excluded.at`,
  )
  const expire = db.prepare('DELETE FROM compactions WHERE at < ?')
  return {
    find: (session: string): State | undefined => {
      const row = find.get(session) as { failures: number; summary: string | null; answers: number } | undefined
      return row && { ...row, summary: row.summary ?? undefined }
    },
    put: (session: string, { failures, summary, answers }: State, at: number) =>
      void put.run({ session, failures, summary: summary ?? null, answers, at }),
    expire: (beforeMs: number): number => expire.run(beforeMs).changes,
  }
}
