/** Instruction files that apply in a folder. */
import type { Caller } from '../../../schema/caller.ts'
import type { Handlers } from '../server.ts'

type Item = {
  kind: 'managed' | 'user' | 'project' | 'local' | 'memory'
  path: string
  content: string
  warning?: string
}
type Deps = { load: (cwd: string, caller: Caller) => Promise<{ items: Item[] }> }

export function instructionRoutes({ load }: Deps): Pick<Handlers, 'instructions'> {
  return { instructions: ({ query, caller }) => load(query.cwd, caller) }
}
