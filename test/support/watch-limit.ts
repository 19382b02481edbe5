/** A daemon in a world where few folders may be watched, or none: a limit of the system itself. */
import { spawnSync } from 'node:child_process'
import type { TestContext } from 'vitest'
import { type RunningDaemon, startDaemon } from './daemon.ts'
import type { Home } from './home.ts'

/** `watches` are ENOSPC when they are used up, `instances` EMFILE. */
export type Limit = { watches: number } | { instances: number }

export async function startWithLimit(home: Home, { skip }: TestContext, limit: Limit): Promise<RunningDaemon> {
  const [[what, most] = []] = Object.entries(limit)
  const set = `echo ${most} > /proc/sys/user/max_inotify_${what} && exec "$@"`
  const limited = ['unshare', '-Ur', 'sh', '-c', set, 'sh']
  const [program = '', ...args] = [...limited, 'true']
  if (spawnSync(program, args).status !== 0) {
    const reason = 'the limits of inotify cannot be set here: user namespaces are not permitted'
    console.warn(`skipped, ${reason}`)
    skip(reason)
  }
  return startDaemon(home, limited)
}
