/** Memories that fit a prompt. */
import { Cancelled, Collected, RecallAnswer, RecallRequest, Ticket, TicketParams } from '../recall.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const recallRoutes = {
  recall: {
    ...routeTable.recall,
    summary: 'The memories that help with a question, ready for a context',
    body: RecallRequest,
    answer: RecallAnswer,
    errors: ['REFUSED'],
  },
  prefetchRecall: {
    ...routeTable.prefetchRecall,
    summary: 'Begin a recall, to collect it later',
    body: RecallRequest,
    answer: Ticket,
    errors: ['REFUSED'],
  },
  collectRecall: {
    ...routeTable.collectRecall,
    summary: 'What became of a recall that was begun: once, and 202 while nobody knows yet',
    params: TicketParams,
    answer: Collected,
    errors: ['REFUSED'],
  },
  cancelRecall: {
    ...routeTable.cancelRecall,
    summary: 'Give up a recall that was begun; a model that is being asked is no longer waited for',
    params: TicketParams,
    answer: Cancelled,
    errors: [],
  },
} as const satisfies RouteGroup
