/** The rows of sessions, as their messages come in: what an earlier line told stays, and the times span all of them. */
import type { Db } from '../db/database.ts'

export type SessionRow = {
  harness: string
  id: string
  forkOf: string | undefined
  cwd: string | undefined
  project: string | undefined
  /** Whose folder that is. A sub-agent may work elsewhere than its session: its folder counts only while no other is known. */
  cwdOf: 'session' | 'sub-agent'
  branch: string | undefined
  startedAt: number | undefined
  interactive: boolean | undefined
}

export type SessionRows = {
  /** `at`: of the message that goes with it. Its row is there, its times only after `flush`. */
  put(session: SessionRow, at: number | undefined): number
  /** Before the transaction ends. */
  flush(): void
  /** The transaction was rolled back. */
  forget(): void
  /** Messages of another session stand in it. */
  setFork(fork: readonly [session: number, origin: string]): void
}

export function createSessionRows(db: Db): SessionRows {
  const put = db
    .prepare(
      `INSERT INTO sessions (harness, session, fork_of, cwd, project, branch, started_at, last_at, interactive,
         guessed)
       VALUES (@harness, @id, @forkOf, @cwd, @project, @branch, coalesce(@startedAt, @at), @at, @interactive,
         @guessed)
       ON CONFLICT (session, harness) DO UPDATE SET fork_of = coalesce(fork_of, @forkOf),
         cwd = iif(guessed > @guessed, coalesce(@cwd, cwd), coalesce(cwd, @cwd)),
         project = iif(guessed > @guessed, coalesce(@project, project), coalesce(project, @project)),
         guessed = CASE WHEN @cwd IS NULL THEN guessed WHEN cwd IS NULL THEN @guessed ELSE min(guessed, @guessed) END,
         branch = coalesce(@branch, branch),
         started_at = min(coalesce(started_at, @startedAt, @at), coalesce(@startedAt, @at, started_at)),
         last_at = max(coalesce(last_at, @at), coalesce(@at, last_at)), interactive = coalesce(@interactive, interactive)
       RETURNING id`,
    )
    .pluck()
  const fork = db.prepare('UPDATE sessions SET fork_of = coalesce(fork_of, ?) WHERE id = ?')
  const write = (session: SessionRow, at: number | undefined): number =>
    put.get({
      harness: session.harness,
      id: session.id,
      forkOf: session.forkOf ?? null,
      cwd: session.cwd ?? null,
      guessed: session.cwdOf === 'sub-agent' ? 1 : 0,
      project: session.project ?? null,
      branch: session.branch ?? null,
      startedAt: session.startedAt ?? null,
      at: at ?? null,
      interactive: session.interactive === undefined ? null : Number(session.interactive),
    }) as number

  let last: Last | undefined
  const flush = () => {
    if (last?.from !== undefined) write(last.session, last.from)
    if (last?.to !== undefined && last.to !== last.from) write(last.session, last.to)
    last = undefined
  }

  return {
    put: (session, at) => {
      // Message after message tells the same of its session: only how far they reach is new.
      if (last && isSame(last.session, session)) {
        if (at !== undefined) {
          last.from = Math.min(last.from ?? at, at)
          last.to = Math.max(last.to ?? at, at)
        }
        return last.row
      }
      flush()
      last = { session, row: write(session, at), from: undefined, to: undefined }
      return last.row
    },
    flush,
    forget: () => {
      last = undefined
    },
    setFork: ([session, origin]) => void fork.run(origin, session),
  }
}

type Last = { session: SessionRow; row: number; from: number | undefined; to: number | undefined }

function isSame(one: SessionRow, other: SessionRow): boolean {
  if (one === other) return true
  return (
    one.id === other.id &&
    one.harness === other.harness &&
    one.forkOf === other.forkOf &&
    one.cwd === other.cwd &&
    one.project === other.project &&
    one.cwdOf === other.cwdOf &&
    one.branch === other.branch &&
    one.startedAt === other.startedAt &&
    one.interactive === other.interactive
  )
}
