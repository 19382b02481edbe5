/** Memories over HTTP: index, prompt, list, one, put, forget, remember, and the instruction files that apply beside them. */

import type { Caller } from '../../../schema/caller.ts'
import type { Core } from '../../core.ts'
import type { Purges } from '../../housekeeping/purge.ts'
import { loadInstructions, MANAGED_FILE } from '../../instructions/instructions.ts'
import type { Memory } from '../../memory/memory.ts'
import type { Projects } from '../../projects/projects.ts'
import type { Recall } from '../../recall/recall.ts'
import { routeFile } from '../request.ts'

export const memoryRoutes = (core: Core, projects: Projects, memory: Memory, recall: Recall, purges: Purges) =>
  routeFile(async () => (await import('../../../schema/memory.ts')).memoryRoutes, {
    memoryIndex: ({ query, caller }) => memory.reading.index(query.cwd, caller),
    memoryPrompt: ({ query: { cwd, sessionId, harness }, caller }) =>
      memory.prompting.prompt(cwd, caller, sessionId === undefined ? undefined : { harness, sessionId }),
    renewPrompt: ({ query }) => {
      memory.prompting.renew(query)
      // What a session no longer remembers it may be shown again.
      recall.reset(query)
      return {}
    },
    memories: ({ query, caller }) => memory.reading.list(query.cwd, caller, { type: query.type, q: query.q }),
    memory: ({ query, params, caller }) =>
      memory.reading.get(query.cwd, caller, params.file, query.at === undefined ? undefined : Date.parse(query.at)),
    putMemory: ({ query, params: { file }, body: { content, ifHash, reason = 'written' }, caller }) =>
      memory.put(query.cwd, caller, { file, content, expect: ifHash }, reason),
    forget: ({ query: { cwd, reject = false, purge = false, ifHash }, params: { file }, caller }) =>
      purge
        ? purges.purge(memory.dirOf(cwd, caller), caller, file, { reject, ifHash })
        : memory.forget(cwd, caller, file, { reject, ifHash }),
    remember: ({ body, caller }) => memory.remember(body.cwd, caller, body.text, body.type),
    instructions: ({ query, caller }) => instructionsAt(core, projects, memory, query.cwd, caller),
  })

async function instructionsAt(
  { places, settings }: Core,
  projects: Projects,
  memory: Memory,
  cwd: string,
  caller: Caller,
) {
  const { root } = projects.find(cwd, caller)
  const { items } = loadInstructions({
    cwd,
    root,
    claudeDir: projects.configDir(caller),
    managedFile: MANAGED_FILE,
    home: places.home,
    agentsMd: settings.current().instructions.agentsMd,
  })
  const { path, content } = memory.reading.index(cwd, caller)
  return { items: content === '' ? items : [...items, { kind: 'memory' as const, path, content }] }
}
