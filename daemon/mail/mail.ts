/** Composes what agents have of each other: who is there, what they write to each other, and what each is doing. */
import type { Databases } from '../db/databases.ts'
import type { Model } from '../models/model.ts'
import type { Clock } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import type { Log } from '../platform/log.ts'
import { createProcesses } from '../platform/process.ts'
import type { Said } from '../sessions/message-table.ts'
import { createSessions } from '../sessions/sessions.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { createMailbox, createMailTable } from './mailbox.ts'
import { createAgentTable, createRegistry } from './registry.ts'
import { createSummaries } from './status-lines.ts'

type Deps = {
  store: Databases
  said: Said
  settings: LiveSettings
  model: Model
  clock: Clock
  events: Events
  log: Log
  redact: (text: string) => Promise<{ text: string; kinds: readonly string[] }>
  rootOf: (cwd: string) => string
  isOff: (cwd: string) => boolean
}

/** Nobody waits for a status line; a model that is slower than this says what was, not what is. */
const ASK_MS = 15_000
/** A line of five words, with room for a model that thinks first. */
const ANSWER_TOKENS = 200
/** More than that would not be told with one prompt. */
const MOST_AT_ONCE = 20
const NEVER = new AbortController().signal
const EXPIRE_MS = 7 * 86_400_000

export function createCompany(deps: Deps) {
  const { store, said, settings, model, clock, events, log, redact, rootOf, isOff } = deps
  const sessions = createSessions(store.index)
  const registry = createRegistry({
    agents: createAgentTable(store.history),
    processes: createProcesses(),
    clock,
    isSession: sessions.isKnown,
    summaryOf: (name) => summaries.of(name),
  })
  const mailbox = createMailbox({
    mail: createMailTable(store.history),
    registry,
    clock,
    redact,
    onMail: (news) => events.publish({ type: 'mail', ...news }),
  })
  const summaries = createSummaries({
    settings: () => settings.current().agentSummaries,
    agents: registry.alive,
    said,
    messagesAt,
    isOff,
    ask: async ({ system, text }, cwd, signal) => {
      if (model.waits()) return undefined
      const late = new AbortController()
      const timer = clock.after(ASK_MS, () => late.abort())
      try {
        const answer = await model.provider({ job: 'summary', project: rootOf(cwd) }).call(
          {
            model: settings.current().model.summary,
            system: [{ type: 'text', text: system }],
            tools: [],
            messages: [{ role: 'user', content: [{ type: 'text', text }] }],
            maxTokens: ANSWER_TOKENS,
          },
          { signal: AbortSignal.any([signal, late.signal]) },
        )
        if ('failed' in answer) return undefined
        return answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
      } finally {
        timer.stop()
      }
    },
    redact,
    clock,
    onError: (error) => log.error({ err: error }, 'the agents could not be looked at'),
  })
  return {
    registry,
    mailbox,
    summaries,
    /** What waits for whoever is meant, if anything and if anybody. */
    mailOf: async (address: string) => {
      if (!registry.boxesOf(address)) return []
      const { items } = await mailbox.read(address, { waitMs: 0, limit: MOST_AT_ONCE, signal: NEVER })
      return items
    },
    /** Mail and registrations that nobody wants any more. Returns how many went. */
    expire: () => mailbox.expire() + registry.forget(clock.now() - EXPIRE_MS, ({ name }) => mailbox.isWaitedFor(name)),
  }
}

export type Company = ReturnType<typeof createCompany>
