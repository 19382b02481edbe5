/** The context service: how full it is, long results, and what makes it fit again. */
import type { Caller } from '../../../schema/caller.ts'
import type {
  Compacted,
  CompactRequest,
  Measured,
  MeasureRequest,
  Microcompacted,
  MicrocompactRequest,
  ToolResultPiece,
  ToolResultsKept,
  ToolResultsRequest,
} from '../../../schema/context.ts'
import type { Handlers } from '../server.ts'

type Range = { from?: number | undefined; to?: number | undefined }

/** Made with the first that is asked for: most starts of a daemon need none of it. */
type Context = {
  measure(request: MeasureRequest, caller: Caller): Promise<Measured>
  microcompact(request: MicrocompactRequest, caller: Caller): Promise<Microcompacted>
  compact(request: CompactRequest, caller: Caller, signal: AbortSignal): Promise<Compacted>
  keepResults(request: ToolResultsRequest): Promise<ToolResultsKept>
  result(session: { harness: string; session: string }, toolUseId: string, range: Range): Promise<ToolResultPiece>
}

type Names = 'measureContext' | 'microcompact' | 'compact' | 'keepToolResults' | 'toolResult'

export function contextRoutes(context: () => Promise<Context>): Pick<Handlers, Names> {
  return {
    measureContext: async ({ body, caller }) => (await context()).measure(body, caller),
    microcompact: async ({ body, caller }) => (await context()).microcompact(body, caller),
    compact: async ({ body, caller, signal }) => (await context()).compact(body, caller, signal),
    keepToolResults: async ({ body }) => (await context()).keepResults(body),
    toolResult: async ({ params, query: { harness, from, to } }) =>
      (await context()).result({ harness, session: params.session }, params.id, { from, to }),
  }
}
