/** In-memory events for connected clients. Nothing durable depends on them: a missed event only means a later look. */
import type { Event } from '../../schema/process.ts'
import type { Clock } from './clock.ts'

type WithoutStamp<E> = E extends unknown ? Omit<E, 'at'> : never
type Unstamped = WithoutStamp<Event>

export type Events = {
  publish(event: Unstamped): void
  subscribe(listener: (event: Event) => void): () => void
}

export function createEvents(clock: Clock): Events {
  const listeners = new Set<(event: Event) => void>()
  return {
    publish: (event) => {
      if (listeners.size === 0) return
      const stamped: Event = { ...event, at: new Date(clock.now()).toISOString() }
      for (const listener of listeners) listener(stamped)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
