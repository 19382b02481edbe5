/** A daemon that may have few files open, and taking the rest of them away from it. */
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { type RunningDaemon, startDaemon } from './daemon.ts'
import type { Home } from './home.ts'

const MOST = 64
const LIMITED = ['sh', '-c', `ulimit -n ${MOST} && exec "$@"`, 'sh']

export function startWithFewFiles(home: Home): Promise<RunningDaemon> {
  return startDaemon(home, LIMITED)
}

/**
 * Connects until the daemon has none left, and again whenever it has closed one, such as a file that it was just reading; gives back
 * what lets go of them all.
 */
export async function takeAllFiles(home: Home, { pid }: RunningDaemon): Promise<() => void> {
  const sockets: Socket[] = []
  let isTaking = true
  const release = () => {
    isTaking = false
    for (const socket of sockets.splice(0)) socket.destroy()
  }
  onTestFinished(release)
  const takeRest = async () => {
    while (isTaking && readdirSync(`/proc/${pid}/fd`).length < MOST) {
      const socket = connect(home.places.socketPath)
      socket.on('error', () => {})
      sockets.push(socket)
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
      // A request that does not end yet: a connection on which nothing happens could be closed.
      socket.write('GET /v1/health HTTP/1.1\r\n')
    }
  }
  await takeRest()
  void (async () => {
    for (; isTaking; await setImmediate()) await takeRest()
  })()
  return release
}
