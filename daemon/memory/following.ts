/** Lets what is kept about one memory directory be about another: journal, rejections, reviews, pauses. */
import type { Db } from '../db/database.ts'
import type { Directories } from '../projects/projects.ts'
import type { Journal, Version } from './journal.ts'
import type { Ends, Move, Moves } from './move.ts'
import type { Past } from './past.ts'

type Deps = { journal: Journal; past: Past; directories: Directories; moves: Moves }

export type Following = {
  /** The same files in another place, or under another name of the place; ends the move, if there is one. */
  whole(ends: Ends & { id?: number }, at: number): void
  /** The files of the move, each under the name it has now, and what is about no file at all. */
  files(move: Move): void
  /** The same place for another project. */
  project(ends: Ends): void
}

const REASON = 'moved with its project'

export function createFollowing(db: Db, { journal, past, directories, moves }: Deps): Following {
  const whole = ['changes', 'reviews'].map((table) =>
    db.prepare(`UPDATE ${table} SET dir = @toDir WHERE dir = @fromDir`),
  )
  const shared = [
    ...['tombstones', 'tombstone_values', 'purges', 'dreams'].map(
      (table) => `UPDATE ${table} SET dir = @toDir WHERE dir = @fromDir`,
    ),
    // Their words name a directory that is no more: who goes on there would write where nobody reads.
    'DELETE FROM prompts WHERE dir = @fromDir',
  ].map((sql) => db.prepare(sql))
  // With everything below it: a project within the project has moved along.
  const within = `project = @fromRoot OR substr(project, 1, length(@fromRoot) + 1) = @fromRoot || '/'`
  const pauses = [
    `INSERT OR IGNORE INTO pauses (project, at)
       SELECT @toRoot || substr(project, length(@fromRoot) + 1), at FROM pauses WHERE ${within}`,
    `DELETE FROM pauses WHERE ${within}`,
  ].map((sql) => db.prepare(sql))
  // The parts stay: they are about an index that stays.
  const ofFile = [
    `UPDATE changes SET dir = @toDir, file = @as WHERE dir = @fromDir AND file = @file AND part_of IS NULL`,
    `UPDATE reviews SET dir = @toDir, file = @as WHERE dir = @fromDir AND file = @file`,
  ].map((sql) => db.prepare(sql))
  const newFiles = db.prepare(`UPDATE reviews SET dir = @toDir WHERE dir = @fromDir AND op = 'create'`)

  const project = ({ fromDir, fromRoot, toDir, toRoot }: Ends) => {
    for (const statement of pauses) statement.run({ fromRoot, toRoot })
    directories.forget({ dir: fromDir, root: fromRoot })
    directories.remember({ dir: toDir, root: toRoot })
  }

  /** Files whose last entry would be one of the new place, about a file that was there before. */
  const misled = ({ fromDir, toDir }: Ends): { file: string; version: Version }[] =>
    journal.files(fromDir).flatMap((file) => {
      const version = journal.latest(fromDir, file)?.after
      const differs = past.knows(toDir, file) && journal.latest(toDir, file)?.after?.hash !== version?.hash
      return version && differs ? [{ file, version }] : []
    })

  return {
    whole: db.transaction(({ id, ...ends }: Ends & { id?: number }, at: number) => {
      const { fromDir, toDir } = ends
      const again = misled(ends)
      for (const statement of [...whole, ...shared]) statement.run({ fromDir, toDir })
      const entries = again.map(({ file, version }) => ({
        at,
        dir: toDir,
        file,
        op: 'create' as const,
        actor: 'user',
        reason: REASON,
        runId: undefined,
        before: undefined,
        after: version,
        undoable: true,
        evidence: [],
      }))
      past.bring(entries)
      project(ends)
      if (id !== undefined) moves.end(id)
    }),
    files: db.transaction(({ id, fromDir, fromRoot, toDir, toRoot, files }: Move) => {
      for (const { file, as } of files) for (const statement of ofFile) statement.run({ fromDir, toDir, file, as })
      newFiles.run({ fromDir, toDir })
      for (const statement of shared) statement.run({ fromDir, toDir })
      project({ fromDir, fromRoot, toDir, toRoot })
      moves.setFollowed(id)
    }),
    project: db.transaction(project),
  }
}
