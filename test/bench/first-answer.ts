/** When a server that is being started answers for the first time, without a poll that would add its own pause. */
import { existsSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { routeTable } from '../../schema/route-table.ts'
import { type Connection, openConnection, requestFor } from './connection.ts'

/** Linux reports the new socket at once; macOS may take tens of ms to, so there we also look ourselves. */
const LOOK_EVERY_MS = 2

/** Call it before the server is started: its folder is watched from then on. Leave no socket of an earlier one there. */
export async function firstAnswer(socketPath: string, signal: AbortSignal): Promise<void> {
  await appearance(socketPath, signal)
  const connection = await connectAtOnce(socketPath, signal)
  await connection.ask(requestFor(routeTable.health))
  connection.close()
}

function appearance(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (existsSync(path)) finish(resolve)
    }
    const watcher = watch(dirname(path), look)
    const timer = process.platform === 'linux' ? undefined : setInterval(look, LOOK_EVERY_MS)
    const onAbort = () => finish(() => reject(signal.reason))
    const finish = (settle: () => void) => {
      watcher.close()
      clearInterval(timer)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    signal.addEventListener('abort', onAbort)
  })
}

/** Between bind and listen, a socket that is there refuses. */
async function connectAtOnce(path: string, signal: AbortSignal): Promise<Connection> {
  for (;;) {
    try {
      return await openConnection(path)
    } catch (error) {
      signal.throwIfAborted()
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') throw error
    }
  }
}
