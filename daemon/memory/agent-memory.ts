/** The memories of a type of sub-agent: the same gate and journal as the project's, confined to a directory of their own. */

import type { Caller } from '../../schema/caller.ts'
import type { Agent, AgentMemory } from '../../schema/memory.ts'
import { redact } from '../secrets/redact.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import type { Places } from './place.ts'
import { agentPrompt } from './prompt-text.ts'
import type { Reading } from './reader.ts'
import type { Remember } from './remember.ts'

type Deps = {
  placesOf: (agent: Agent) => Places
  readingIn: (places: Places) => Reading
  writingIn: (places: Places) => Remember
}

export type AgentMemories = {
  prompt(cwd: string, caller: Caller, agent: Agent): Promise<AgentMemory>
  reading(agent: Agent): Reading
  writing(agent: Agent): Remember
}

export function createAgentMemories({ placesOf, readingIn, writingIn }: Deps): AgentMemories {
  return {
    prompt: async (cwd, caller, agent) => {
      const { dir, off } = placesOf(agent).find(cwd, caller)
      if (off !== undefined) return { text: '', dir, skipped: 'off' }
      const { text } = await redact(readIndexes(dir, { withTeam: false }).own)
      const index = loadIndex(text).content
      return { text: agentPrompt({ dir, agentType: agent.type, scope: agent.scope, index }), dir }
    },
    reading: (agent) => readingIn(placesOf(agent)),
    writing: (agent) => writingIn(placesOf(agent)),
  }
}
