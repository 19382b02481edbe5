/** A daemon in a world where nobody may watch a folder: the system's limit on inotify watches is zero. */
import { spawnSync } from 'node:child_process'
import type { TestContext } from 'vitest'
import { type RunningDaemon, startDaemon } from './daemon.ts'
import type { Home } from './home.ts'

const LIMITED = ['unshare', '-Ur', 'sh', '-c', 'echo 0 > /proc/sys/user/max_inotify_watches && exec "$@"', 'sh']

export async function startWithoutWatches(home: Home, { skip }: TestContext): Promise<RunningDaemon> {
  const [program = '', ...args] = [...LIMITED, 'true']
  if (spawnSync(program, args).status !== 0) {
    console.warn('skipped: cannot limit inotify watches here')
    skip()
  }
  return startDaemon(home, LIMITED)
}
