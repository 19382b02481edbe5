/** The context service over HTTP: how full a conversation is, long results of tools, and what makes it fit again. */
import type { Fitting } from '../../context/fitting.ts'
import { routeFile } from '../request.ts'

/** Made with the first request for it: most starts of a daemon need none of it. */
export const contextRoutes = (context: () => Promise<Fitting>) =>
  routeFile(async () => (await import('../../../schema/context.ts')).contextRoutes, {
    measureContext: async ({ body, caller }) => (await context()).measure(body, caller),
    microcompact: async ({ body, caller }) => (await context()).microcompact(body, caller),
    compact: async ({ body, caller, signal }) => (await context()).compact(body, caller, signal),
    keepToolResults: async ({ body }) => (await context()).keepResults(body),
    toolResult: async ({ params, query: { harness, from, to } }) =>
      (await context()).result({ harness, session: params.session }, params.id, { from, to }),
  })
