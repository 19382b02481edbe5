/** The memories of a type of sub-agent: the same gate and journal as the project's, confined to a directory of their own. */
import type { Agent, AgentMemory } from '../../schema/agent-memory.ts'
import type { Caller } from '../../schema/caller.ts'
import type { Directories } from '../store/directories.ts'
import { loadIndex } from './index-file.ts'
import { readIndexes } from './indexes.ts'
import type { Redact } from './judge.ts'
import type { Place, Places } from './place.ts'
import { agentPrompt } from './prompt-text.ts'
import type { Reading } from './reading.ts'
import type { Writing } from './writing.ts'

type Deps = {
  places: Places
  directories: Directories
  redact: Redact
  agentDir: (root: string, caller: Caller, agent: Agent) => string
  onNewDirectory: (dir: string) => void
  readingIn: (places: Places) => Reading
  writingIn: (places: Places) => Writing
}

export type AgentMemories = {
  prompt(cwd: string, caller: Caller, agent: Agent): Promise<AgentMemory>
  reading(agent: Agent): Reading
  writing(agent: Agent): Writing
}

export function createAgentMemories(deps: Deps): AgentMemories {
  const { places, directories, redact, agentDir, onNewDirectory, readingIn, writingIn } = deps

  const placesOf = (agent: Agent): Places => {
    const moved = (place: Place, caller: Caller): Place => {
      const dir = agentDir(place.root, caller, agent)
      // What serves every project belongs to none of them.
      const root = agent.scope === 'user' ? dir : place.root
      if (place.off === undefined && directories.remember({ dir, root }) === 'new') onNewDirectory(dir)
      return { ...place, dir }
    }
    return {
      find: (cwd, caller) => moved(places.find(cwd, caller), caller),
      forWriting: (cwd, caller) => moved(places.forWriting(cwd, caller), caller),
    }
  }

  return {
    prompt: async (cwd, caller, agent) => {
      const { dir, off } = placesOf(agent).find(cwd, caller)
      if (off !== undefined) return { text: '', dir, skipped: 'off' }
      const { text } = await redact(readIndexes(dir, { withTeam: false }).own)
      return {
        text: agentPrompt({ dir, agentType: agent.type, scope: agent.scope, index: loadIndex(text).content }),
        dir,
      }
    },
    reading: (agent) => readingIn(placesOf(agent)),
    writing: (agent) => writingIn(placesOf(agent)),
  }
}
