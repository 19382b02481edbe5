/** What is wrong at the moment and what went wrong lately, for `status`. Parts raise and clear; nobody else decides. */
import type { Clock } from './clock.ts'

export type Condition = { code: string; message: string; since: string }
export type Failure = { at: string; code: string; message: string }

export type Conditions = {
  /** Raising again with another message updates it and keeps `since`. */
  raise(code: string, message: string): void
  clear(code: string): void
  list(): Condition[]
  /** Notes a failure nobody was waiting for. */
  failed(code: string, message: string): void
  failures(): Failure[]
}

const KEPT_FAILURES = 20

export function createConditions({ clock, onChange }: { clock: Clock; onChange: () => void }): Conditions {
  const raised = new Map<string, Condition>()
  const failures: Failure[] = []
  const stamp = () => new Date(clock.now()).toISOString()
  return {
    raise: (code, message) => {
      const before = raised.get(code)
      if (before?.message === message) return
      raised.set(code, { code, message, since: before?.since ?? stamp() })
      onChange()
    },
    clear: (code) => {
      if (raised.delete(code)) onChange()
    },
    list: () => [...raised.values()],
    failed: (code, message) => {
      failures.unshift({ at: stamp(), code, message })
      failures.length = Math.min(failures.length, KEPT_FAILURES)
    },
    failures: () => [...failures],
  }
}
