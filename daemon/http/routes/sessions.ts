/** Sessions over HTTP: their turns, notes and notices, search over them, and transcripts that callers bring. */

import type { createTelling } from '../../extraction/telling.ts'
import type { Background } from '../../jobs/jobs.ts'
import type { Notes } from '../../notes/notes.ts'
import type { Capture } from '../../transcripts/capture.ts'
import { routeFile } from '../request.ts'

const USUAL_LIMIT = 20

export const sessionRoutes = (
  capture: Capture,
  notices: ReturnType<typeof createTelling>,
  notes: Notes,
  jobs: Background,
) =>
  routeFile(async () => (await import('../../../schema/session.ts')).sessionRoutes, {
    sessions: ({ query }) => capture.sessions.list(query),
    session: ({ params, query }) => capture.sessions.one(params.id, query.harness),
    notices: ({ params, query }) => notices.list(params.id, query),
    sessionNotes: ({ params, query }) => {
      const { harness, id } = capture.sessions.known(params.id, query.harness)
      return notes.answer({ harness, sessionId: id })
    },
    search: (call) => {
      const { q, cwd, limit = USUAL_LIMIT } = call.query
      return capture.search.search(q, { cwd, caller: call.caller, limit, signal: () => call.signal })
    },
    importTranscripts: async ({ body }) => ({
      jobId: jobs.enqueue(await capture.importing.due(body.dir, body.harness)).id,
    }),
    pushTurn: ({ body, caller }) => capture.pushing.push(body, caller),
  })
