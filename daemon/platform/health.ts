/** The daemon's health: conditions that last until they are cleared, and the newest failures. */
import type { Event, StatusEvent } from '../../schema/event.ts'
import type { Condition, Failure } from '../../schema/process.ts'
import type { Clock } from './clock.ts'
import type { Events } from './events.ts'

type Code = Condition['code']
type Change = { raised: Condition } | { cleared: Code }

const KEPT_FAILURES = 20

export function createHealth(clock: Clock, events: Events) {
  const raised = new Map<Code, Condition>()
  const failures: Failure[] = []
  const listeners = new Set<(change: Change) => void>()
  const now = () => new Date(clock.now()).toISOString()
  const state = (): StatusEvent['state'] => (raised.size > 0 ? 'degraded' : 'ready')
  const announce = (change: StatusEvent['change']) => events.publish({ type: 'status', state: state(), change })
  const changed = (change: Change) => {
    for (const listener of listeners) listener(change)
    announce('condition')
  }
  return {
    raise: (code: Code, message: string) => {
      const before = raised.get(code)
      if (before?.message === message) return
      const condition = { code, message, since: before?.since ?? now() }
      raised.set(code, condition)
      changed({ raised: condition })
    },
    clear: (code: Code) => {
      if (raised.delete(code)) changed({ cleared: code })
    },
    list: () => [...raised.values()],
    failed: (code: string, message: string) => {
      failures.unshift({ at: now(), code, message })
      failures.length = Math.min(failures.length, KEPT_FAILURES)
    },
    failures: () => [...failures],
    state,
    announce,
    connected: (): Event => ({ type: 'status', at: now(), state: state(), change: 'connected' }),
    onChange: (listener: (change: Change) => void) => void listeners.add(listener),
  }
}

export type Health = ReturnType<typeof createHealth>
