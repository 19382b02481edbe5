/** Sub-agents: their own memories. */
import type { Agent, AgentMemory } from '../../../schema/agent-memory.ts'
import type { Caller } from '../../../schema/caller.ts'
import type { Forgotten, Memory, Written } from '../../../schema/memory.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  prompt(cwd: string, caller: Caller, agent: Agent): Promise<AgentMemory>
  reading(agent: Agent): { get(cwd: string, caller: Caller, file: string, at: number | undefined): Memory }
  writing(agent: Agent): {
    put(
      cwd: string,
      caller: Caller,
      write: { file: string; content: string; expect: string | null | undefined },
      reason: string,
    ): Promise<Written>
    forget(
      cwd: string,
      caller: Caller,
      file: string,
      how: { reject: boolean; purge: boolean; ifHash: string | undefined },
    ): Promise<Forgotten>
  }
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
