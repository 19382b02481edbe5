/** Sessions, their turns, their notes, and what they are told. */
import type { NoticeList, OneSession, SessionList, SessionNotes } from '../../../schema/session.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  list(query: { cwd: string; limit?: number | undefined; after?: string | undefined }): Promise<SessionList>
  one(id: string, harness: string | undefined): Promise<OneSession>
  notices(id: string, query: { harness?: string | undefined; after?: number | undefined }): NoticeList
  notes(id: string, harness: string | undefined): SessionNotes
}

type Names = 'sessions' | 'session' | 'notices' | 'sessionNotes'

export function sessionRoutes({ list, one, notices, notes }: Deps): Pick<Handlers, Names> {
  return {
    sessions: ({ query }) => list(query),
    session: ({ params, query }) => one(params.id, query.harness),
    notices: ({ params, query }) => notices(params.id, query),
    sessionNotes: ({ params, query }) => notes(params.id, query.harness),
  }
}
