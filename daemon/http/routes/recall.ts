/** Recall: at once, ahead of time, and what sessions were given. */
import type { Caller } from '../../../schema/caller.ts'
import type { Collected, GivenList, RecallAnswer, RecallRequest } from '../../../schema/recall.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  recall(request: RecallRequest, at: { caller: Caller; signal: AbortSignal }): Promise<RecallAnswer>
  tickets: {
    begin(request: RecallRequest, caller: Caller): { ticket: string }
    collect(ticket: string): Promise<Collected>
    cancel(ticket: string): { cancelled: boolean }
  }
  given(sessionId: string, harness: string | undefined): GivenList
}

type Names = 'recall' | 'prefetchRecall' | 'collectRecall' | 'cancelRecall' | 'recalled'

export function recallRoutes({ recall, tickets, given }: Deps): Pick<Handlers, Names> {
  return {
    // As it is: its signal is looked at only where a model is asked, and making one costs as much as a small answer.
    recall: (call) => recall(call.body, call),
    prefetchRecall: ({ body, caller }) => tickets.begin(body, caller),
    collectRecall: ({ params }) => tickets.collect(params.ticket),
    cancelRecall: ({ params }) => tickets.cancel(params.ticket),
    recalled: ({ params, query }) => given(params.id, query.harness),
  }
}
