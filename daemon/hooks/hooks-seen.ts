/** When each harness last ran a hook of ours. Decides nothing. */
import type { Db } from '../db/database.ts'

export type HooksSeen = { list(): { harness: string; at: number }[]; put(harness: string, at: number): void }

export function createHooksSeen(db: Db): HooksSeen {
  const list = db.prepare('SELECT harness, at FROM hooks_seen')
  const put = db.prepare('INSERT OR REPLACE INTO hooks_seen (harness, at) VALUES (?, ?)')
  return {
    list: () => list.all() as { harness: string; at: number }[],
    put: (harness, at) => void put.run(harness, at),
  }
}
