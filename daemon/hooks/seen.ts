/** Which harnesses are connected, and when a hook of each was last seen: known at once, written soon, so that no hook waits for the disk. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, HOOK_MARK } from '../../schema/hook.ts'
import type { Core } from '../core.ts'
import type { Timer } from '../platform/clock.ts'

const WRITE_MS = 2_000

export function createLastSeen({ db, clock, logged }: Core) {
  const list = db.history.prepare('SELECT harness, at FROM hooks_seen')
  const put = db.history.prepare('INSERT OR REPLACE INTO hooks_seen (harness, at) VALUES (?, ?)')
  const known = new Map((list.all() as { harness: string; at: number }[]).map(({ harness, at }) => [harness, at]))
  const unwritten = new Set<string>()
  let timer: Timer | undefined
  const write = (): void => {
    timer?.stop()
    timer = undefined
    try {
      for (const harness of unwritten) put.run(harness, known.get(harness) ?? 0)
      unwritten.clear()
    } catch (error) {
      // They stay for the next time.
      logged('when hooks were seen could not be written')(error)
    }
  }
  return {
    note: (harness: string): void => {
      known.set(harness, clock.now())
      unwritten.add(harness)
      timer ??= clock.after(WRITE_MS, write)
    },
    at: (harness: string): number | undefined => known.get(harness),
    stop: write,
  }
}

/** Those whose settings, as `memoryd connect` noted them, still have a hook of ours. */
export function connectedHarnesses(stateDir: string): Set<string> {
  return new Set(
    noted(join(stateDir, 'connections')).flatMap(({ harness, file }) =>
      textOf(file).includes(HOOK_MARK) ? [harness] : [],
    ),
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
