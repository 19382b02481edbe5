/** The path of the Unix socket: private to the user, and cleared only when no process listens there. */
import { chmodSync, lstatSync, statSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { ensurePrivateFolder } from './files.ts'

/** SD_LISTEN_FDS_START of systemd. */
const FIRST_PASSED_FD = 3

export function passedSocket(env: Environment, pid: number): number | undefined {
  if (env.LISTEN_PID !== String(pid) || !env.LISTEN_FDS) return undefined
  if (env.LISTEN_FDS === '1') return FIRST_PASSED_FD
  throw new MemoryError('SETUP', `expected one passed socket, got LISTEN_FDS=${env.LISTEN_FDS}`, {
    hint: 'the socket unit must have exactly one ListenStream',
  })
}

/** Call it only while holding the process lock: then no other daemon can bind between the dial and the unlink. */
export async function clearSocketPath(path: string): Promise<void> {
  ensurePrivateFolder(dirname(path), 'socket')
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return
  if (!stats.isSocket())
    throw new MemoryError('SETUP', `${path} exists and is not a socket`, {
      hint: 'move it away, or set MEMORYD_SOCKET to another path',
    })
  if (await isListening(path))
    throw new MemoryError('SETUP', `another program already listens at ${path}`, {
      hint: 'a daemon with another state folder? Stop it, or set MEMORYD_SOCKET to another path',
    })
  unlinkSync(path)
}

/** Node binds with the umask's mode. */
export function closeToOthers(path: string): void {
  // As a service the folder may be read-only, and the socket as it should be.
  if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600)
  const { mode, uid } = statSync(path)
  if ((mode & 0o777) !== 0o600 || uid !== process.getuid?.())
    throw new MemoryError('SETUP', `${path} cannot be made private (mode ${(mode & 0o777).toString(8)}, uid ${uid})`, {
      hint: 'put the socket on a file system that keeps permissions',
    })
}

export function socketIsThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      // A full backlog means a living, busy listener.
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(error)
    })
  })
}
