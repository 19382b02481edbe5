/** The memory prompt of a caller. What a session was given stays, byte for byte, until the session is cleared or compacted. */
import type { Caller } from '../../schema/caller.ts'
import type { Agent, AgentMemory, MemoryPrompt } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { safeId } from '../platform/text.ts'
import type { Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { inFolder } from './folder.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import { agentPrompt, memoryPrompt } from './prompt-text.ts'

type SessionName = { sessionId: string; harness: string }

const DAY_MS = 86_400_000

export function createPrompts(core: Core, projects: Projects) {
  const { clock, disk, settings } = core
  const mayBeAt = projects.isMemoryDir
  const table = createPromptTable(core.db.history)
  let renewals = 0

  // Before the index is cut: half of a credential no longer looks like one.
  const shownIndex = async (text: string) => loadIndex((await redact(text)).text).content

  const make = async (dir: string, caller: Caller): Promise<string> => {
    const { own, team } = readIndexes(dir, { withTeam: settings.current().team.enabled, mayBeAt })
    const { text } = await redact(projects.variables(caller).CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES ?? '')
    return memoryPrompt({
      dir,
      index: await shownIndex(own),
      team: team === undefined ? undefined : await shownIndex(team),
      extraGuidelines: text,
    })
  }

  /** The prompt is answered even where it cannot be stored. */
  const unlessDiskFails = <T>(write: () => T, otherwise: T): T => {
    try {
      return write()
    } catch (error) {
      if (!disk.blames(error)) throw error
      return otherwise
    }
  }

  const frozen = async (key: PromptKey, caller: Caller): Promise<string> => {
    const now = clock.now()
    const given = table.find(key)
    if (given) {
      if (now - given.at > DAY_MS) unlessDiskFails(() => table.touch(key, now), undefined)
      makeAgain(key.dir)
      return given.text
    }
    const before = renewals
    const text = await make(key.dir, caller)
    // The session may have been cleared meanwhile.
    if (renewals !== before) return frozen(key, caller)
    return unlessDiskFails(() => table.freeze(key, text, now), text)
  }

  return {
    prompt: async (cwd: string, caller: Caller, session: SessionName | undefined): Promise<MemoryPrompt> => {
      const { dir, off } = projects.find(cwd, caller)
      if (off !== undefined) return { text: '', skipped: 'off' }
      return { text: session ? await frozen({ ...nameOf(session), dir }, caller) : await make(dir, caller) }
    },
    agentPrompt: async (cwd: string, caller: Caller, agent: Agent): Promise<AgentMemory> => {
      const { dir, off } = projects.ofAgent(agent).find(cwd, caller)
      if (off !== undefined) return { text: '', dir, skipped: 'off' }
      const index = await shownIndex(readIndexes(dir, { withTeam: false, mayBeAt }).own)
      return { text: agentPrompt({ dir, agentType: agent.type, scope: agent.scope, index }), dir }
    },
    /** The session was cleared or compacted: its next prompt is made anew, in every directory. */
    renew: (session: SessionName): void => {
      renewals += 1
      table.forget(nameOf(session))
    },
  }
}

/** The text says that the directory exists. It stays as it is even where that cannot be made true any more. */
function makeAgain(dir: string): void {
  try {
    inFolder(dir, () => {})
  } catch {}
}

function nameOf({ sessionId, harness }: SessionName): Omit<PromptKey, 'dir'> {
  return { harness: safeId(harness), session: safeId(sessionId) }
}

type PromptKey = { harness: string; session: string; dir: string }

/** `at`: when it was last asked for, to the day. */
type FrozenPrompt = { text: string; at: number }

/** A session that did not ask for its prompt for so long is over. */
const KEEP_MS = 30 * DAY_MS

function createPromptTable(db: Db) {
  const get = db.prepare('SELECT text, at FROM prompts WHERE harness = ? AND session = ? AND dir = ?')
  const insert = db.prepare(`INSERT INTO prompts (harness, session, dir, at, text) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`)
  const touch = db.prepare('UPDATE prompts SET at = ? WHERE harness = ? AND session = ? AND dir = ?')
  const expire = db.prepare('DELETE FROM prompts WHERE at < ?')
  const forget = db.prepare('DELETE FROM prompts WHERE harness = ? AND session = ?')
  const find = ({ harness, session, dir }: PromptKey) => get.get(harness, session, dir) as FrozenPrompt | undefined
  return {
    find,
    touch: ({ harness, session, dir }: PromptKey, at: number): void => void touch.run(at, harness, session, dir),
    freeze: db.transaction((key: PromptKey, text: string, at: number): string => {
      expire.run(at - KEEP_MS)
      insert.run(key.harness, key.session, key.dir, at, text)
      return (find(key) as FrozenPrompt).text
    }),
    forget: ({ harness, session }: Omit<PromptKey, 'dir'>): void => void forget.run(harness, session),
  }
}
