/** Who is there: agents by name, whether their processes live, and whose mail each of them reads. */
import type { AgentList, AgentRegistration, RegisteredAgent } from '../../schema/agent.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import type { Processes } from '../platform/processes.ts'
import type { AgentTable, StoredAgent } from './agent-table.ts'

export const SESSION = 'session:'

type Deps = {
  agents: AgentTable
  processes: Processes
  clock: Clock
  /** Whether there are transcripts of a session of this id. */
  isSession: (id: string) => boolean
  summaryOf: (name: string) => string | undefined
}

export type Registry = {
  register(registration: AgentRegistration): RegisteredAgent
  list(): AgentList
  /** Those whose processes are there. */
  alive(): StoredAgent[]
  /**
   * Every box that a reader reads, its own first: an agent also its session's, a session also those of its agents. Undefined
   * when nobody is known by this address.
   */
  boxesOf(address: string): [string, ...string[]] | undefined
  sessionOf(box: string): string | undefined
  /** Takes out those that registered before then, are gone and, by `isWaitedFor`, have no mail. */
  forget(beforeMs: number, isWaitedFor: (agent: StoredAgent) => boolean): number
}

/** Registrations are cheap, but not for nothing. */
const MOST_AGENTS = 1_000

export function createRegistry({ agents, processes, clock, isSession, summaryOf }: Deps): Registry {
  const isAlive = ({ pid, born }: StoredAgent) => processes.isAlive(pid, born)
  const answered = (agent: StoredAgent): RegisteredAgent => {
    const { name, session: sessionId, harness, cwd, pid, at } = agent
    const summary = summaryOf(name)
    const registeredAt = new Date(at).toISOString()
    return { name, sessionId, harness, cwd, pid, registeredAt, alive: isAlive(agent), ...(summary && { summary }) }
  }
  return {
    register: ({ name, sessionId: session, harness, cwd, pid, summaries }) => {
      const before = agents.get(name)
      if (before && before.pid !== pid && isAlive(before))
        throw new MemoryError(
          'CONFLICT',
          `${name} is the name of another agent, which lives as process ${before.pid}`,
          {
            hint: 'register under another name; GET /v1/agents lists those that are taken',
          },
        )
      if (!before && agents.list().length >= MOST_AGENTS)
        throw new MemoryError('CONFLICT', `${MOST_AGENTS} agents are registered, and no more can be`, {
          hint: 'those that are gone are forgotten after 7 days; register under a name that is no longer used',
        })
      const born = processes.birthOf(pid)
      agents.put({ name, session, harness, cwd, pid, born, summaries, at: clock.now() })
      return answered(agents.get(name) as StoredAgent)
    },
    list: () => ({ items: agents.list().map(answered) }),
    alive: () => agents.list().filter(isAlive),
    boxesOf: (address) => {
      if (!address.startsWith(SESSION)) {
        const agent = agents.get(address)
        return agent && [address, SESSION + agent.session]
      }
      const session = address.slice(SESSION.length)
      const names = agents.ofSession(session).map(({ name }) => name)
      return names.length > 0 || isSession(session) ? [address, ...names] : undefined
    },
    sessionOf: (box) => (box.startsWith(SESSION) ? box.slice(SESSION.length) : agents.get(box)?.session),
    forget: (beforeMs, isWaitedFor) => {
      const old = agents.list().filter((agent) => agent.at < beforeMs && !isAlive(agent) && !isWaitedFor(agent))
      for (const { name } of old) agents.remove(name)
      return old.length
    },
  }
}
