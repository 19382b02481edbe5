/** Dreams: begin one, and how the one that goes on or the last one is. */
import type { Caller } from '../../../schema/caller.ts'
import type { DreamBegun, DreamStatus } from '../../../schema/dream.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  begin(cwd: string, caller: Caller, how: { force?: boolean | undefined; explain?: boolean | undefined }): DreamBegun
  status(cwd: string, caller: Caller): DreamStatus
}

export function dreamRoutes({ begin, status }: Deps): Pick<Handlers, 'dream' | 'dreamStatus'> {
  return {
    dream: ({ body: { cwd, force, explain }, caller }) => begin(cwd, caller, { force, explain }),
    dreamStatus: ({ query, caller }) => status(query.cwd, caller),
  }
}
