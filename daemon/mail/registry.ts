/** The agents that registered, by name: whether their processes live, and which boxes of mail each of them reads. */
import { MemoryError } from '../../schema/errors.ts'
import type { AgentRegistration } from '../../schema/mail.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import type { Processes } from '../platform/process.ts'
import type { Sessions } from '../sessions/sessions.ts'

export type Agent = {
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

/** Begins the address of a session; every other address is the name of an agent. */
export const SESSION = 'session:'

const MOST_AGENTS = 1_000

export function createRegistry({ db, clock }: Core, sessions: Sessions, processes: Processes) {
  const agents = createAgentTable(db.history)
  const isAlive = ({ pid, born }: Agent) => processes.isAlive(pid, born)
  return {
    isAlive,
    register: ({ name, sessionId: session, harness, cwd, pid, summaries }: AgentRegistration): Agent => {
      const before = agents.get(name)
      if (before && before.pid !== pid && isAlive(before))
        throw new MemoryError(
          'CONFLICT',
          `${name} is the name of another agent, which lives as process ${before.pid}`,
          { hint: 'register under another name; GET /v1/agents lists those that are taken' },
        )
      if (!before && agents.list().length >= MOST_AGENTS)
        throw new MemoryError('CONFLICT', `${MOST_AGENTS} agents are registered, and no more can be`, {
          hint: 'those that are gone are forgotten after 7 days; register under a name that is no longer used',
        })
      const agent = { name, session, harness, cwd, pid, born: processes.birthOf(pid), summaries, at: clock.now() }
      agents.put(agent)
      return agent
    },
    list: agents.list,
    alive: () => agents.list().filter(isAlive),
    /** Every box that a reader reads, its own first: an agent also its session's, a session also those of its agents. */
    boxesOf: (address: string): [string, ...string[]] | undefined => {
      if (!address.startsWith(SESSION)) {
        const agent = agents.get(address)
        return agent && [address, SESSION + agent.session]
      }
      const session = address.slice(SESSION.length)
      const names = agents.ofSession(session).map(({ name }) => name)
      return names.length > 0 || sessions.isKnown(session) ? [address, ...names] : undefined
    },
    sessionOf: (box: string) => (box.startsWith(SESSION) ? box.slice(SESSION.length) : agents.get(box)?.session),
    forget: (beforeMs: number, hasMail: (name: string) => boolean): number => {
      const old = agents.list().filter((agent) => agent.at < beforeMs && !isAlive(agent) && !hasMail(agent.name))
      for (const { name } of old) agents.remove(name)
      return old.length
    },
  }
}

export type Registry = ReturnType<typeof createRegistry>

type Row = Omit<Agent, 'born' | 'summaries'> & { born: string | null; summaries: number }

function createAgentTable(db: Db) {
  const put = db.prepare(`INSERT OR REPLACE INTO agents (name, harness, session, cwd, pid, born, summaries, at)
    VALUES (@name, @harness, @session, @cwd, @pid, @born, @summaries, @at)`)
  const get = db.prepare('SELECT * FROM agents WHERE name = ?')
  const ofSession = db.prepare('SELECT * FROM agents WHERE session = ? ORDER BY at DESC, name')
  const list = db.prepare('SELECT * FROM agents ORDER BY at DESC, name')
  const remove = db.prepare('DELETE FROM agents WHERE name = ?')
  const fromRow = ({ born, summaries, ...row }: Row): Agent => {
    return { ...row, born: born ?? undefined, summaries: summaries === 1 }
  }
  return {
    put: (agent: Agent) => void put.run({ ...agent, born: agent.born ?? null, summaries: agent.summaries ? 1 : 0 }),
    get: (name: string) => {
      const row = get.get(name) as Row | undefined
      return row && fromRow(row)
    },
    ofSession: (session: string) => (ofSession.all(session) as Row[]).map(fromRow),
    list: () => (list.all() as Row[]).map(fromRow),
    remove: (name: string) => void remove.run(name),
  }
}
