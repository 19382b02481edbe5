/** Sessions and their turns. */
import type { OneSession, SessionList } from '../../../schema/session.ts'
import type { Handlers } from '../server.ts'

type Deps = {
  list(query: { cwd: string; limit?: number | undefined; after?: string | undefined }): Promise<SessionList>
  one(id: string, harness: string | undefined): Promise<OneSession>
}

export function sessionRoutes({ list, one }: Deps): Pick<Handlers, 'sessions' | 'session'> {
  return {
    sessions: ({ query }) => list(query),
    session: ({ params, query }) => one(params.id, query.harness),
  }
}
