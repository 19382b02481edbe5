/** Whole memory sets over HTTP: out as a file, in from one, and after a project that moved. */
import type { Memory } from '../../memory/memory.ts'
import { onlyUser, routeFile } from '../request.ts'

export const transferRoutes = (memory: Memory) =>
  routeFile(async () => (await import('../../../schema/transfer.ts')).transferRoutes, {
    exportMemories: ({ query, caller }) => memory.exporting.start(query.cwd, caller),
    importMemories: ({ query, lines, caller }) => {
      // The file says who made its memories: the user vouches for that.
      onlyUser(caller)
      return memory.importing.run(query.cwd, caller, lines)
    },
    moveProject: ({ body, caller }) => {
      onlyUser(caller)
      return memory.moving.move(body, caller)
    },
  })
