/** The agents that registered, by their names. Knows nothing of whether they are still there. */
import type { Db } from '../db/database.ts'

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
