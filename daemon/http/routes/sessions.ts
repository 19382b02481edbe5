/** Sessions over HTTP: their turns, notes and notices, search over them, and transcripts that callers bring. */

import type { Agent } from '../../agent/agent.ts'
import type { Notes } from '../../notes/notes.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { TranscriptReader } from '../../transcripts/transcript-reader.ts'
import { routeFile } from '../request.ts'

const USUAL_LIMIT = 20

export const sessionRoutes = (reader: TranscriptReader, sessions: Sessions, notes: Notes, agent: Agent) =>
  routeFile(async () => (await import('../../../schema/session.ts')).sessionRoutes, {
    sessions: ({ query }) => sessions.list(query),
    session: ({ params, query }) => sessions.get(params.id, query.harness),
    notices: ({ params, query }) => sessions.notices.list(params.id, query),
    sessionNotes: ({ params, query }) => {
      const { harness, sessionId } = sessions.known(params.id, query.harness)
      return notes.answer({ harness, sessionId })
    },
    search: (call) => {
      const { q, cwd, limit = USUAL_LIMIT } = call.query
      return sessions.search(q, { cwd, caller: call.caller, limit, signal: () => call.signal })
    },
    importTranscripts: async ({ body }) => ({ jobId: await reader.importFolder(body.dir, body.harness) }),
    pushTurn: async ({ body, caller }) => {
      const kept = await reader.keepTurn(body, caller)
      // Before the turn is read: a job that it makes due may begin at once.
      const prefixSkipped = body.prefix && agent.keepHarnessRequest(kept.session, body.prefix)
      return { jobIds: await reader.readTurn(kept), ...(prefixSkipped !== undefined && { prefixSkipped }) }
    },
  })
