/** Sub-agents: their own memories. */
import type { Agent, AgentMemory } from '../../../schema/agent-memory.ts'
import type { Caller } from '../../../schema/caller.ts'
import type { Handlers } from '../server.ts'
import type { Reading, Writing } from './memories.ts'

type Deps = {
  prompt(cwd: string, caller: Caller, agent: Agent): Promise<AgentMemory>
  reading(agent: Agent): Reading
  writing(agent: Agent): Writing
}

type Names = 'agentMemory' | 'agentMemoryFile' | 'putAgentMemory' | 'forgetAgentMemory'

export function agentRoutes({ prompt, reading, writing }: Deps): Pick<Handlers, Names> {
  return {
    agentMemory: ({ params: { type }, query: { cwd, scope }, caller }) => prompt(cwd, caller, { type, scope }),
    agentMemoryFile: ({ params: { type, file }, query: { cwd, scope }, caller }) =>
      reading({ type, scope }).get(cwd, caller, file, undefined),
    putAgentMemory: ({ params: { type, file }, query: { cwd, scope }, body, caller }) =>
      writing({ type, scope }).put(
        cwd,
        caller,
        { file, content: body.content, expect: body.ifHash },
        body.reason ?? 'written',
      ),
    forgetAgentMemory: ({
      params: { type, file },
      query: { cwd, scope, reject = false, purge = false, ifHash },
      caller,
    }) => writing({ type, scope }).forget(cwd, caller, file, { reject, purge, ifHash }),
  }
}
