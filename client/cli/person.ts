/** The daemon as a person speaks to it: strictly, as `user`, and only for the length of one command. */
import type { StrictClient } from '../client.ts'
import type { Context } from './context.ts'

export async function asPerson<T>({ connect, places }: Context, act: (client: StrictClient) => Promise<T>): Promise<T> {
  const client = connect({ socket: places.socketPath, strict: true, actor: 'user', deadlineMs: 30_000 })
  try {
    return await act(client)
  } finally {
    client.close()
  }
}
