/**
 * Status lines of the agents that asked for one: made anew at most every so many seconds, only while what they do is being
 * written down, and never twice the same. They are kept in memory: the next daemon makes new ones.
 */
import type { Clock, Timer } from '../platform/clock.ts'
import { openReadBack } from '../platform/read-back.ts'
import { meantIn, type Said } from '../sessions/said.ts'
import type { StoredAgent } from './agent-table.ts'
import { asStatusLine, type Doing, statusFrom } from './status-line.ts'
import { type Question, statusQuestion } from './status-question.ts'

type Line = Doing & { id?: string; by: string }

type Deps = {
  settings: () => { enabled: boolean; everySeconds: number }
  /** Agents whose processes are there. */
  agents: () => StoredAgent[]
  said: Pick<Said, 'session' | 'newest'>
  messagesAt: (harness: string, line: string) => Line[]
  /** Whether memory is switched off in a folder. */
  isOff: (cwd: string) => boolean
  /** What a model answers; undefined when none may be asked, or when it failed. */
  ask: (question: Question, cwd: string, signal: AbortSignal) => Promise<string | undefined>
  redact: (text: string) => Promise<{ text: string }>
  clock: Clock
  onError: (error: unknown) => void
}

export type Summaries = {
  of(name: string): string | undefined
  /** Also when the settings have changed. */
  start(): void
  stop(): Promise<void>
}

/** What is looked at: enough to see what is being done, and never the whole session. */
const NEWEST = 12
/** In one round; those whose lines are oldest come first, so that everybody's turn comes. */
const AT_MOST = 10

type Known = { line: string | undefined; row: number; upTo: number; round: number }

export function createSummaries(deps: Deps): Summaries {
  const { settings, agents, said, messagesAt, isOff, ask, redact, clock, onError } = deps
  const known = new Map<string, Known>()
  let timer: Timer | undefined
  let everySeconds = 0
  let round = 0
  let running: Promise<void> = Promise.resolve()
  let stopping = new AbortController()

  /** Newest first. */
  const doingsOf = async (row: number): Promise<Doing[]> => {
    const lines = openReadBack(messagesAt)
    try {
      const messages = said.newest(row, NEWEST)
      const read = await lines.read(messages)
      return messages.flatMap((message, n) => meantIn(read[n], message) ?? [])
    } finally {
      lines.close()
    }
  }

  const lineOf = async (row: number, cwd: string, last: string | undefined, signal: AbortSignal) => {
    const doings = await doingsOf(row)
    if (doings.length === 0) return undefined
    const said = await ask(statusQuestion(doings, last), cwd, signal)
    const line = (said === undefined ? undefined : asStatusLine(said)) ?? statusFrom(doings)
    return line === undefined ? undefined : (await redact(line)).text
  }

  const look = async (signal: AbortSignal) => {
    round++
    const asked = agents().filter(({ summaries }) => summaries)
    for (const name of known.keys()) if (!asked.some((agent) => agent.name === name)) known.delete(name)
    const grown = asked.flatMap(({ name, harness, session, cwd }) => {
      const row = isOff(cwd) ? undefined : said.session(harness, session)?.row
      const upTo = row === undefined ? undefined : said.newest(row, 1)[0]?.id
      if (row === undefined || upTo === undefined) return []
      const before = known.get(name)
      return before?.row === row && before.upTo === upTo ? [] : [{ name, cwd, row, upTo, before }]
    })
    const first = grown.toSorted((a, b) => (a.before?.round ?? 0) - (b.before?.round ?? 0)).slice(0, AT_MOST)
    for (const { name, cwd, row, upTo, before } of first) {
      if (signal.aborted) return
      const last = before?.row === row ? before.line : undefined
      const line = await lineOf(row, cwd, last, signal)
      known.set(name, { line: line ?? last, row, upTo, round })
    }
  }

  return {
    of: (name) => known.get(name)?.line,
    start: () => {
      const now = settings()
      const wanted = now.enabled ? now.everySeconds : 0
      if (wanted === everySeconds) return
      timer?.stop()
      everySeconds = wanted
      timer = undefined
      if (wanted === 0) return known.clear()
      const { signal } = stopping
      timer = clock.every(
        wanted * 1_000,
        () => {
          running = look(signal)
          return running
        },
        onError,
      )
    },
    stop: async () => {
      timer?.stop()
      everySeconds = 0
      stopping.abort()
      stopping = new AbortController()
      await running.catch(() => {})
    },
  }
}
