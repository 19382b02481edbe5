/** Sessions, their turns, and what they are told. */
import type { NoticeList, OneSession, SessionList } from '../../../schema/session.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  list(query: { cwd: string; limit?: number | undefined; after?: string | undefined }): Promise<SessionList>
  one(id: string, harness: string | undefined): Promise<OneSession>
  notices(id: string, query: { harness?: string | undefined; after?: number | undefined }): NoticeList
}

export function sessionRoutes({ list, one, notices }: Deps): Pick<Handlers, 'sessions' | 'session' | 'notices'> {
  return {
    sessions: ({ query }) => list(query),
    session: ({ params, query }) => one(params.id, query.harness),
    notices: ({ params, query }) => notices(params.id, query),
  }
}
