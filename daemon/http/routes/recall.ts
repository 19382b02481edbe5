/** Recall over HTTP: at once, ahead of time, and which memories a session was shown. */
import type { Recall } from '../../recall/recall.ts'
import { routeFile } from '../request.ts'

export const recallRoutes = (recall: Recall) =>
  routeFile(async () => (await import('../../../schema/recall.ts')).recallRoutes, {
    recall: (call) => recall.recall(call.body, call),
    prefetchRecall: ({ body, caller }) => recall.tickets.begin(body, caller),
    collectRecall: ({ params }) => recall.tickets.collect(params.ticket),
    cancelRecall: ({ params }) => recall.tickets.cancel(params.ticket),
    recalled: ({ params, query }) => recall.given(params.id, query.harness),
  })
