/** Whole memory sets on their way: out as a file, in from one, and after a project that moved. */
import type { Caller } from '../../../schema/caller.ts'
import type { Imported } from '../../../schema/export.ts'
import type { Moved } from '../../../schema/move.ts'
import { onlyPeople } from '../caller.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  carrying: () => {
    exporting: { start(cwd: string, caller: Caller): Promise<AsyncIterable<string>> }
    importing: { run(cwd: string, caller: Caller, chunks: AsyncIterable<Uint8Array>): Promise<Imported> }
    moving: { move(ends: { from: string; to: string }, caller: Caller): Promise<Moved> }
  }
}

type Names = 'exportMemories' | 'importMemories' | 'moveProject'

export function carryingRoutes({ carrying }: Deps): Pick<Handlers, Names> {
  return {
    exportMemories: ({ query, caller }) => carrying().exporting.start(query.cwd, caller),
    importMemories: ({ query, lines, caller }) => {
      // The file says of its changes who made them: a person vouches for that.
      onlyPeople(caller)
      return carrying().importing.run(query.cwd, caller, lines)
    },
    moveProject: ({ body, caller }) => {
      onlyPeople(caller)
      return carrying().moving.move(body, caller)
    },
  }
}
