/** What the daemon costs while it is idle: it runs all day on a laptop. */
import { setTimeout as delay } from 'node:timers/promises'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, requestFor, timeRequests } from './connection.ts'
import type { Row } from './row.ts'
import { usageOf } from './usage.ts'

/** Shorter than 60 s, one tick of the kernel's account already is a tenth of the goal or more. */
const WATCH_MS = { full: 60_000, quick: 10_000 }
/**
 * Until what the start and the requests left to do is done: today's backup, and V8, which tidies up once, 8 or 16 s after
 * the last work, for nearly 0.1 s of CPU and a sixth of the memory.
 */
const SETTLE_MS = { full: 30_000, quick: 20_000 }
const REQUESTS = 200
const MB = 1_000_000

export const idle: Row<'memory' | 'cpu'> = {
  name: 'idle',
  what: 'resident memory and CPU while idle',
  yardstick: undefined,
  goals: { memory: { unit: 'MB', atMost: 110 }, cpu: { unit: '%', atMost: 0.1 } },

  run: async (bench) => {
    const home = bench.home()
    const daemon = await bench.daemon(home)
    const bare = await bench.bareServer(home)
    for (const server of [daemon, bare]) {
      const connection = await openConnection(server.socketPath)
      await timeRequests(connection, requestFor(routeTable.health), REQUESTS)
      if (server === daemon) await timeRequests(connection, requestFor(routeTable.status), REQUESTS)
      connection.close()
    }
    const busy = usageOf(daemon.pid)
    await delay(SETTLE_MS[bench.pace])

    const before = usageOf(daemon.pid)
    const startedMs = performance.now()
    await delay(WATCH_MS[bench.pace])
    const watchedMs = performance.now() - startedMs
    const after = usageOf(daemon.pid)
    return {
      figures: {
        memory: { value: after.rssBytes / MB },
        cpu: { value: (100 * (after.cpuMs - before.cpuMs)) / watchedMs },
      },
      details: {
        watchedMs,
        cpuMs: after.cpuMs - before.cpuMs,
        settlingCpuMs: before.cpuMs - busy.cpuMs,
        busyMb: busy.rssBytes / MB,
        bareServerMb: usageOf(bare.pid).rssBytes / MB,
      },
    }
  },
}
