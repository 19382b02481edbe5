/** Mail between agents: who is registered, their mailboxes, their status lines. */
import type { AgentList, AgentRegistration, Mail, RegisteredAgent } from '../../schema/mail.ts'
import type { Core } from '../core.ts'
import type { Models } from '../models/models.ts'
import { createProcesses } from '../platform/process.ts'
import type { Projects } from '../projects/projects.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { createMailbox, EXPIRE_MS } from './mailbox.ts'
import { type Agent, createRegistry, SESSION } from './registry.ts'
import { createStatusLines } from './status-lines.ts'

/** More would not fit into what one hook prints. */
const MOST_FOR_HOOK = 20
const NEVER = new AbortController().signal

export function createMail(core: Core, projects: Projects, sessions: Sessions, models: Models) {
  const registry = createRegistry(core, sessions, createProcesses())
  const mailbox = createMailbox(core, registry)
  const statusLines = createStatusLines(core, projects, registry, sessions, models)

  const answered = (agent: Agent): RegisteredAgent => {
    const { name, session: sessionId, harness, cwd, pid, at } = agent
    const registeredAt = new Date(at).toISOString()
    const alive = registry.isAlive(agent)
    const summary = statusLines.of(name)
    return { name, sessionId, harness, cwd, pid, registeredAt, alive, ...(summary && { summary }) }
  }

  return {
    register: (registration: AgentRegistration): RegisteredAgent => {
      const agent = registry.register(registration)
      // Its boxes may be read by those who wait already.
      mailbox.wake()
      return answered(agent)
    },
    agents: (): AgentList => ({ items: registry.list().map(answered) }),
    send: mailbox.send,
    read: mailbox.read,
    acknowledge: mailbox.acknowledge,
    ofSession: async (sessionId: string): Promise<Mail[]> => {
      const address = SESSION + sessionId
      if (!registry.boxesOf(address)) return []
      return (await mailbox.read(address, { waitMs: 0, limit: MOST_FOR_HOOK, signal: NEVER })).items
    },
    acknowledgeOfSession: (sessionId: string, ids: readonly string[]) =>
      mailbox.acknowledge(SESSION + sessionId, ids.map(Number)),
    expire: (): number => mailbox.expire() + registry.forget(core.clock.now() - EXPIRE_MS, mailbox.hasMail),
    close: mailbox.close,
    start: () => {
      statusLines.start()
      core.settings.onChange(statusLines.start)
    },
    stop: statusLines.stop,
  }
}

export type MailService = ReturnType<typeof createMail>
