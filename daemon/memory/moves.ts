/** Moves of projects that have begun and are not over: what a kill leaves of one is finished or undone at the next start. */
import type { Db } from '../db/database.ts'

export type Ends = { fromDir: string; fromRoot: string; toDir: string; toRoot: string }

/** `hash`: what has to go from the old place; none when the file was gone before. */
export type MovedFile = { file: string; as: string; hash?: string }

export type Move = Ends & {
  id: number
  at: number
  /** The directory itself, when it is renamed as a whole: wherever it is, that is how far the move came. */
  inode: string | undefined
  /** Else the files that are brought, one by one. */
  files: MovedFile[]
  /** Whether what is kept about them is about the new place already. */
  followed: boolean
}

export type Moves = {
  begin(move: Omit<Move, 'id' | 'followed'>): number
  setFollowed(id: number): void
  end(id: number): void
  list(): Move[]
}

type Row = {
  id: number
  at: number
  from_dir: string
  from_root: string
  to_dir: string
  to_root: string
  inode: string | null
  files: string
  followed: number
}

export function createMoves(db: Db): Moves {
  const insert = db.prepare(`INSERT INTO moves (at, from_dir, from_root, to_dir, to_root, inode, files, followed)
    VALUES (?, ?, ?, ?, ?, ?, ?, 0)`)
  const follow = db.prepare('UPDATE moves SET followed = 1 WHERE id = ?')
  const remove = db.prepare('DELETE FROM moves WHERE id = ?')
  const list = db.prepare('SELECT * FROM moves ORDER BY id')
  return {
    begin: ({ at, fromDir, fromRoot, toDir, toRoot, inode, files }) =>
      Number(insert.run(at, fromDir, fromRoot, toDir, toRoot, inode ?? null, JSON.stringify(files)).lastInsertRowid),
    setFollowed: (id) => void follow.run(id),
    end: (id) => void remove.run(id),
    list: () => (list.all() as Row[]).map(fromRow),
  }
}

function fromRow({ id, at, from_dir, from_root, to_dir, to_root, inode, files, followed }: Row): Move {
  const ends = { fromDir: from_dir, fromRoot: from_root, toDir: to_dir, toRoot: to_root }
  return { id, at, ...ends, inode: inode ?? undefined, files: JSON.parse(files), followed: followed === 1 }
}
