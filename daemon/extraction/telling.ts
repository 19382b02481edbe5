/** What a session is told of what was saved and put in order for it, and how it asks for that. Changes of the index alone are not told. */
import type { NoticeList } from '../../schema/session.ts'
import type { Clock } from '../platform/clock.ts'
import type { Notices } from '../sessions/notices.ts'

type Deps = { notices: Notices; clock: Pick<Clock, 'now'> }

const PAGE = 100

export function createTelling({ notices, clock }: Deps) {
  return {
    /** Within the transaction that saves; returns how to take it back. */
    saved: ({ harness, sessionId }: { harness: string; sessionId: string }, files: string[]): (() => void) => {
      const text = `saved: ${files.join(', ')}`
      const id = notices.add({ at: clock.now(), harness, session: sessionId, kind: 'saved', files, text })
      return () => notices.remove(id)
    },
    /** The same for what was put in order; names no memory. */
    dreamed: ({ harness, sessionId }: { harness: string; sessionId: string }, text: string): (() => void) => {
      const id = notices.add({ at: clock.now(), harness, session: sessionId, kind: 'dream', files: [], text })
      return () => notices.remove(id)
    },
    list: (
      sessionId: string,
      { harness, after = 0 }: { harness?: string | undefined; after?: number | undefined },
    ): NoticeList => ({
      items: notices.list({ session: sessionId, harness, after, limit: PAGE }).map(({ id, at, kind, files, text }) => ({
        id: String(id),
        at: new Date(at).toISOString(),
        kind: kind as NoticeList['items'][number]['kind'],
        files: [...files],
        text,
      })),
    }),
  }
}
