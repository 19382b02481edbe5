/** What is wrong at the moment and what went wrong lately, for `status`. Parts raise and clear; nobody else decides. */
import type { Condition, Failure } from '../../schema/status.ts'
import type { Clock } from './clock.ts'

type Code = Condition['code']

export type Conditions = {
  /** Raising again with another message updates it and keeps `since`. */
  raise(code: Code, message: string): void
  clear(code: Code): void
  list(): Condition[]
  /** Notes a failure nobody was waiting for. */
  failed(code: string, message: string): void
  failures(): Failure[]
}

const KEPT_FAILURES = 20

/** `onChange` hears what was raised, or the code of what was cleared. */
type Deps = { clock: Clock; onChange: (news: { raised: Condition } | { cleared: Code }) => void }

export function createConditions({ clock, onChange }: Deps): Conditions {
  const raised = new Map<Code, Condition>()
  const failures: Failure[] = []
  const stamp = () => new Date(clock.now()).toISOString()
  return {
    raise: (code, message) => {
      const before = raised.get(code)
      if (before?.message === message) return
      const condition = { code, message, since: before?.since ?? stamp() }
      raised.set(code, condition)
      onChange({ raised: condition })
    },
    clear: (code) => {
      if (raised.delete(code)) onChange({ cleared: code })
    },
    list: () => [...raised.values()],
    failed: (code, message) => {
      failures.unshift({ at: stamp(), code, message })
      failures.length = Math.min(failures.length, KEPT_FAILURES)
    },
    failures: () => [...failures],
  }
}
