/** The memory prompt that each session was given in each directory: the first one stays until it is forgotten. */
import type { Db } from '../db/database.ts'

export type PromptKey = { harness: string; session: string; dir: string }

/** `at`: when it was last asked for, to the day. */
export type FrozenPrompt = { text: string; at: number }

export type Prompts = {
  find(key: PromptKey): FrozenPrompt | undefined
  touch(key: PromptKey, at: number): void
  /** Keeps the text unless there is one already, and returns the one that counts. Old ones go. */
  freeze(key: PromptKey, text: string, at: number): string
  /** In all directories. */
  forget(session: Omit<PromptKey, 'dir'>): void
}

/** A session that nobody asked for so long is over. */
const KEEP_MS = 30 * 86_400_000

export function createPrompts(db: Db): Prompts {
  const get = db.prepare('SELECT text, at FROM prompts WHERE harness = ? AND session = ? AND dir = ?')
  const insert = db.prepare(`INSERT INTO prompts (harness, session, dir, at, text) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`)
  const touch = db.prepare('UPDATE prompts SET at = ? WHERE harness = ? AND session = ? AND dir = ?')
  const expire = db.prepare('DELETE FROM prompts WHERE at < ?')
  const forget = db.prepare('DELETE FROM prompts WHERE harness = ? AND session = ?')
  const find = ({ harness, session, dir }: PromptKey) => get.get(harness, session, dir) as FrozenPrompt | undefined
  return {
    find,
    touch: ({ harness, session, dir }, at) => void touch.run(at, harness, session, dir),
    freeze: db.transaction((key: PromptKey, text: string, at: number) => {
      expire.run(at - KEEP_MS)
      insert.run(key.harness, key.session, key.dir, at, text)
      return (find(key) as FrozenPrompt).text
    }),
    forget: ({ harness, session }) => void forget.run(harness, session),
  }
}
