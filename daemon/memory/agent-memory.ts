/** The memories of a type of sub-agent: the same gate and journal as the project's, confined to a directory of their own. */

import type { Caller } from '../../schema/caller.ts'
import type { Agent, AgentMemory } from '../../schema/memory.ts'
import type { ProjectFinder, Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import { agentPrompt } from './prompt-text.ts'
import type { Reading } from './reader.ts'
import type { Remember } from './remember.ts'

type Deps = {
  projects: Projects
  readingIn: (places: ProjectFinder) => Reading
  writingIn: (places: ProjectFinder) => Remember
}

export type AgentMemories = {
  prompt(cwd: string, caller: Caller, agent: Agent): Promise<AgentMemory>
  reading(agent: Agent): Reading
  writing(agent: Agent): Remember
}

export function createAgentMemories({ projects, readingIn, writingIn }: Deps): AgentMemories {
  return {
    prompt: async (cwd, caller, agent) => {
      const { dir, off } = projects.ofAgent(agent).find(cwd, caller)
      if (off !== undefined) return { text: '', dir, skipped: 'off' }
      const { text } = await redact(readIndexes(dir, { withTeam: false }).own)
      const index = loadIndex(text).content
      return { text: agentPrompt({ dir, agentType: agent.type, scope: agent.scope, index }), dir }
    },
    reading: (agent) => readingIn(projects.ofAgent(agent)),
    writing: (agent) => writingIn(projects.ofAgent(agent)),
  }
}
