/** What is told of sessions: a project's, page by page, and one with its turns. */
import { MemoryError } from '../../schema/errors.ts'
import type { OneSession, Session, SessionList } from '../../schema/session.ts'
import { present } from '../transcripts/formats/fields.ts'
import type { Source } from '../transcripts/formats/formats.ts'
import type { Turn } from '../transcripts/live-chain.ts'
import type { Sessions, StoredSession } from './sessions.ts'

type Deps = {
  sessions: Sessions
  turnsOf: (sources: Source[]) => Promise<Turn[]>
  projectOf: (cwd: string) => string
  /** A folder may have become private after its sessions were read. */
  isPrivate: (cwd: string) => boolean
}

export type SessionAnswers = {
  list(query: { cwd: string; limit?: number | undefined; after?: string | undefined }): Promise<SessionList>
  one(id: string, harness: string | undefined): Promise<OneSession>
  /** Which one is meant, refused as above. */
  known(id: string, harness: string | undefined): { harness: string; id: string }
}

const PAGE = 50
/** Longer ones are counted by their rows, which may be one or two off. */
const COUNTED_BYTES = 32_000_000
const MOST_COUNTED = 1_000

export function createSessionAnswers({ sessions, turnsOf, projectOf, isPrivate }: Deps): SessionAnswers {
  const counted = new Map<number, { readBytes: number; turns: number }>()
  const read = (row: StoredSession) =>
    turnsOf(sessions.files(row.row).map(({ harness, root, path }) => ({ harness, root, path })))

  /** Where rows cannot tell, the files are read once for as long as they are as they were. */
  const countOf = async (row: StoredSession): Promise<number> => {
    const { readBytes } = row
    if (row.unsure === 0 || row.gone === 1 || readBytes > COUNTED_BYTES) return row.turns
    const before = counted.get(row.row)
    if (before?.readBytes === readBytes) return before.turns
    const turns = (await read(row)).length
    if (counted.size >= MOST_COUNTED) counted.clear()
    counted.set(row.row, { readBytes, turns })
    return turns
  }

  const shown = ({ cwd }: StoredSession) => cwd === null || !isPrivate(cwd)
  const meant = (id: string, harness: string | undefined): StoredSession => {
    const named = sessions.named(id).filter((row) => shown(row) && (harness === undefined || row.harness === harness))
    const [row, ...others] = named
    if (!row) throw new MemoryError('NOT_FOUND', `no session ${id} is known`, { hint: 'GET /v1/sessions lists them' })
    if (others.length > 0)
      throw new MemoryError('CONFLICT', `several harnesses have a session ${id}`, {
        hint: `add ?harness= with one of: ${named.map((other) => other.harness).join(', ')}`,
      })
    return row
  }
  return {
    list: async ({ cwd, limit = PAGE, after }) => {
      const rows = sessions.list({ project: projectOf(cwd), limit: limit + 1, after: placeOf(after) })
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      const items = []
      for (const row of page.filter(shown)) items.push({ ...answerOf(row), turns: await countOf(row) })
      return last && rows.length > limit ? { items, next: `${last.lastAt ?? 0}.${last.row}` } : { items }
    },
    known: (id, harness) => {
      const row = meant(id, harness)
      return { harness: row.harness, id: row.id }
    },
    one: async (id, harness) => {
      const row = meant(id, harness)
      const turns = await read(row)
      // Of deleted files nothing can be read back; what was counted stays.
      const count = row.gone === 1 ? row.turns : turns.length
      return { ...answerOf(row), turns: count, turnList: turns.map(turnAnswer) }
    },
  }
}

function placeOf(after: string | undefined) {
  if (after === undefined) return undefined
  const [lastAt, row] = after.split('.')
  return { lastAt: Number(lastAt), row: Number(row) }
}

function answerOf({
  id,
  harness,
  forkOf,
  cwd,
  project,
  startedAt,
  lastAt,
  turns,
  tokens,
  gone,
}: StoredSession): Session {
  return present<Session>({
    id,
    harness,
    cwd: cwd ?? undefined,
    project: project ?? undefined,
    startedAt: timeOf(startedAt),
    lastAt: timeOf(lastAt),
    turns,
    tokens,
    parentId: forkOf ?? undefined,
    gone: gone === 1,
  })
}

function turnAnswer({ startedAt, endedAt, end, prompt, startedBy, toolCalls }: Turn): OneSession['turnList'][number] {
  return present<OneSession['turnList'][number]>({
    startedAt: timeOf(startedAt),
    endedAt: timeOf(endedAt),
    // Nobody waits for what comes later here: it has ended as far as one can tell.
    end: end === 'settling' ? 'final' : end,
    prompt,
    startedBy: startedBy === 'person' ? 'person' : 'other',
    toolCalls: toolCalls.length,
  })
}

function timeOf(at: number | null | undefined): string | undefined {
  return at === null || at === undefined ? undefined : new Date(at).toISOString()
}
