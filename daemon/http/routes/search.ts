/** Search over transcripts. */
import type { Caller } from '../../../schema/caller.ts'
import type { FoundList } from '../../../schema/search.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  search(q: string, at: { cwd: string; caller: Caller; limit: number; signal: () => AbortSignal }): Promise<FoundList>
}

const USUAL_LIMIT = 20

export function searchRoutes({ search }: Deps): Pick<Handlers, 'search'> {
  return {
    search: (call) => {
      const { q, cwd, limit = USUAL_LIMIT } = call.query
      return search(q, { cwd, caller: call.caller, limit, signal: () => call.signal })
    },
  }
}
