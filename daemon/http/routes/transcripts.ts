/** Transcripts that are brought: whole folders of them, and turns as they end. */
import type { Caller } from '../../../schema/caller.ts'
import type { ImportBegun } from '../../../schema/import.ts'
import type { TurnPushed, TurnRequest } from '../../../schema/turn.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  importFrom: (dir: string, harness: string | undefined) => Promise<ImportBegun>
  pushing: { push(turn: TurnRequest, caller: Caller): Promise<TurnPushed> }
}

export function transcriptRoutes({ importFrom, pushing }: Deps): Pick<Handlers, 'importTranscripts' | 'pushTurn'> {
  return {
    importTranscripts: ({ body }) => importFrom(body.dir, body.harness),
    pushTurn: ({ body, caller }) => pushing.push(body, caller),
  }
}
