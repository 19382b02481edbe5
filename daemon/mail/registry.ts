/** Who is there: agents by name, whether their processes live, and whose mail each of them reads. */
import type { AgentList, AgentRegistration, RegisteredAgent } from '../../schema/agent.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import type { Processes } from '../platform/process.ts'

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

/** The agents that registered, by their names. Knows nothing of whether they are still there. */

export type StoredAgent = {
  name: string
  harness: string
  session: string
  cwd: string
  pid: number
  /** What tells the process from another of the same number, where the system says so. */
  born: string | undefined
  summaries: boolean
  at: number
}

export type AgentTable = {
  /** In the place of an earlier one of that name. */
  put(agent: StoredAgent): void
  get(name: string): StoredAgent | undefined
  ofSession(session: string): StoredAgent[]
  /** The last one that registered first. */
  list(): StoredAgent[]
  remove(name: string): void
}

type Row = Omit<StoredAgent, 'born' | 'summaries'> & { born: string | null; summaries: number }

export function createAgentTable(db: Db): AgentTable {
  const put = db.prepare(`INSERT OR REPLACE INTO agents (name, harness, session, cwd, pid, born, summaries, at)
    VALUES (@name, @harness, @session, @cwd, @pid, @born, @summaries, @at)`)
  const get = db.prepare('SELECT * FROM agents WHERE name = ?')
  const ofSession = db.prepare('SELECT * FROM agents WHERE session = ? ORDER BY at DESC, name')
  const list = db.prepare('SELECT * FROM agents ORDER BY at DESC, name')
  const remove = db.prepare('DELETE FROM agents WHERE name = ?')
  return {
    put: (agent) => void put.run({ ...agent, born: agent.born ?? null, summaries: agent.summaries ? 1 : 0 }),
    get: (name) => {
      const row = get.get(name) as Row | undefined
      return row && fromRow(row)
    },
    ofSession: (session) => (ofSession.all(session) as Row[]).map(fromRow),
    list: () => (list.all() as Row[]).map(fromRow),
    remove: (name) => void remove.run(name),
  }
}

function fromRow({ born, summaries, ...row }: Row): StoredAgent {
  return { ...row, born: born ?? undefined, summaries: summaries === 1 }
}
