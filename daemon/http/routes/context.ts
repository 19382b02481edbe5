/** The context service over HTTP: how full a conversation is, long results of tools, and what makes it fit again. */
import type { Context } from '../../context/context.ts'
import { routeFile } from '../request.ts'

export const contextRoutes = (context: Context) =>
  routeFile(async () => (await import('../../../schema/context.ts')).contextRoutes, {
    measureContext: ({ body, caller }) => context.measure(body, caller),
    microcompact: ({ body, caller }) => context.microcompact(body, caller),
    compact: ({ body, caller, signal }) => context.compact(body, caller, signal),
    keepToolResults: ({ body }) => context.keepResults(body),
    toolResult: ({ params: { session, id }, query: { harness, from, to } }) =>
      context.result({ harness, sessionId: session }, id, { from, to }),
  })
