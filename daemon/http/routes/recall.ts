/** Recall over HTTP: at once, ahead of time, and which memories a session was shown. */
import type { Recall } from '../../recall/recall.ts'
import { routeFile } from '../request.ts'

export const recallRoutes = (recall: Recall) =>
  routeFile(async () => (await import('../../../schema/recall.ts')).recallRoutes, {
    recall: (call) => recall.recall(call.body, call),
    prefetchRecall: ({ body, caller }) => recall.prefetch(body, caller),
    collectRecall: ({ params }) => recall.collect(params.ticket),
    cancelRecall: ({ params }) => recall.cancel(params.ticket),
    recalled: ({ params, query }) => recall.shown(params.id, query.harness),
  })
