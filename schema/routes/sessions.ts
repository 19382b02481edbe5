/** What was said. */
import { ImportBegun, ImportRequest } from '../import.ts'
import { GivenList } from '../recall.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'
import { FoundList, SearchQuery } from '../search.ts'
import {
  NoticeList,
  NoticesQuery,
  OneSession,
  SessionList,
  SessionNotes,
  SessionParams,
  SessionQuery,
  SessionsQuery,
} from '../session.ts'
import { TurnPushed, TurnRequest } from '../turn.ts'

export const sessionRoutes = {
  sessions: {
    ...routeTable.sessions,
    summary: 'The sessions of the project',
    query: SessionsQuery,
    answer: SessionList,
    errors: [],
  },
  session: {
    ...routeTable.session,
    summary: 'One session with its turns, read back from its transcript',
    params: SessionParams,
    query: SessionQuery,
    answer: OneSession,
    errors: ['CONFLICT'],
  },
  notices: {
    ...routeTable.notices,
    summary: 'What was saved of what was said in a session',
    params: SessionParams,
    query: NoticesQuery,
    answer: NoticeList,
    errors: [],
  },
  sessionNotes: {
    ...routeTable.sessionNotes,
    summary: 'The running summary of a session',
    params: SessionParams,
    query: SessionQuery,
    answer: SessionNotes,
    errors: ['CONFLICT'],
  },
  recalled: {
    ...routeTable.recalled,
    summary: 'Which memories a session was given',
    params: SessionParams,
    query: SessionQuery,
    answer: GivenList,
    errors: [],
  },
  pushTurn: {
    ...routeTable.pushTurn,
    summary: 'A turn that has ended, from a harness that writes no transcripts, or the transcript it stands in',
    body: TurnRequest,
    answer: TurnPushed,
    errors: ['MEMORY_OFF', 'REFUSED'],
  },
  importTranscripts: {
    ...routeTable.importTranscripts,
    summary: 'Read all transcripts in a folder; events of the type `job` tell how far it is',
    body: ImportRequest,
    answer: ImportBegun,
    errors: ['REFUSED'],
  },
  search: {
    ...routeTable.search,
    summary: 'What was said about something in the sessions of the project',
    query: SearchQuery,
    answer: FoundList,
    errors: ['REFUSED'],
  },
} as const satisfies RouteGroup
