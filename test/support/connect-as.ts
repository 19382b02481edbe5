/** A client that came in by a certain way: `user` is the command line's. */
import { onTestFinished } from 'vitest'
import { connect, type StrictClient } from '../../client/index.ts'
import type { Home } from './home.ts'

export function connectAs(home: Home, actor: 'user' | `agent:${string}`): StrictClient {
  const client = connect({ socket: home.places.socketPath, strict: true, actor, deadlineMs: 20_000 })
  onTestFinished(client.close)
  return client
}
