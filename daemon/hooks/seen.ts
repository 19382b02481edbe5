/** When a hook of each harness was last seen: known at once, written down soon, so that no hook waits for the disk. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, HOOK_MARK } from '../../schema/hook.ts'
import type { Db } from '../db/database.ts'
import type { Clock, Timer } from '../platform/clock.ts'

type Deps = { rows: HooksSeen; clock: Pick<Clock, 'now' | 'after'>; onError: (error: unknown) => void }

const WRITE_MS = 2_000

export function createLastSeen({ rows, clock, onError }: Deps) {
  const known = new Map(rows.list().map(({ harness, at }) => [harness, at]))
  const unwritten = new Set<string>()
  let timer: Timer | undefined
  const write = (): void => {
    timer?.stop()
    timer = undefined
    try {
      for (const harness of unwritten) rows.put(harness, known.get(harness) ?? 0)
      unwritten.clear()
    } catch (error) {
      // They stay for the next time.
      onError(error)
    }
  }
  return {
    seen: (harness: string): void => {
      known.set(harness, clock.now())
      unwritten.add(harness)
      timer ??= clock.after(WRITE_MS, write)
    },
    at: (harness: string): number | undefined => known.get(harness),
    stop: write,
  }
}

/** When each harness last ran a hook of ours. Decides nothing. */

export type HooksSeen = { list(): { harness: string; at: number }[]; put(harness: string, at: number): void }

export function createHooksSeen(db: Db): HooksSeen {
  const list = db.prepare('SELECT harness, at FROM hooks_seen')
  const put = db.prepare('INSERT OR REPLACE INTO hooks_seen (harness, at) VALUES (?, ?)')
  return {
    list: () => list.all() as { harness: string; at: number }[],
    put: (harness, at) => void put.run(harness, at),
  }
}

/** Which harnesses are connected: those whose settings, as `memoryd connect` noted them, still have a hook of ours. */

export const connectionsDir = (stateDir: string) => join(stateDir, 'connections')

export function connectedHarnesses(stateDir: string): Set<string> {
  return new Set(
    noted(connectionsDir(stateDir)).flatMap(({ harness, file }) => (textOf(file).includes(HOOK_MARK) ? [harness] : [])),
  )
}

function noted(dir: string): Connection[] {
  let names: string[]
  try {
    names = readdirSync(dir).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
  return names.flatMap((name) => {
    try {
      const found = Connection.safeParse(JSON.parse(textOf(join(dir, name))))
      return found.success ? [found.data] : []
    } catch {
      return []
    }
  })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
