/** Puts the server on its socket: the one systemd passed, or our own, which is made again when its file is deleted. */
import { dirname } from 'node:path'
import type { Clock, Timer } from '../platform/clock.ts'
import { ensurePrivateFolder, message } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import { clearSocketPath, closeToOthers, socketIsThere } from '../platform/socket.ts'
import type { Server } from './server.ts'

type Deps = {
  server: Server
  path: string
  passed: number | undefined
  clock: Clock
  health: Health
  log: Log
}

/**
 * A runtime folder is emptied on log-out and by cleaners, and a daemon without its socket can neither be reached nor
 * replaced: so we look, and bind again.
 */
const LOOK_EVERY_MS = 10_000

export async function bindServer({ server, path, passed, clock, health, log }: Deps): Promise<Timer> {
  if (passed !== undefined) {
    await server.listen({ fd: passed })
    // Whoever made it: where callers look for it, it must be as closed as one of our own.
    if (socketIsThere(path)) {
      ensurePrivateFolder(dirname(path), 'socket')
      closeToOthers(path)
    }
    return { stop: () => {} }
  }
  const bind = async () => {
    await clearSocketPath(path)
    await server.listen({ path })
    closeToOthers(path)
  }
  await bind()
  const look = async () => {
    if (socketIsThere(path)) return
    await bind()
    health.clear('socket')
    log.warn({ socket: path }, 'the socket had been deleted; it is there again')
  }
  return clock.every(LOOK_EVERY_MS, look, (error) =>
    health.raise('socket', `${path} was deleted and cannot be made again: ${message(error)}`),
  )
}
