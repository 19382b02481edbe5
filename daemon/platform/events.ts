/** In-memory events for connected clients. Nothing durable depends on them: a missed event only means a later look. */
import type { Event } from '../../schema/event.ts'
import type { Clock } from './clock.ts'

type WithoutStamp<E> = E extends unknown ? Omit<E, 'at'> : never

export type Events = ReturnType<typeof createEvents>

export function createEvents(clock: Clock) {
  const listeners = new Set<(event: Event) => void>()
  return {
    publish: (event: WithoutStamp<Event>): void => {
      const stamped: Event = { ...event, at: new Date(clock.now()).toISOString() }
      for (const listener of listeners) listener(stamped)
    },
    subscribe: (listener: (event: Event) => void) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
