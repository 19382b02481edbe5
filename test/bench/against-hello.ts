/** One kind of exchange with the daemon, measured in turns with fastify's “hello” on the same core. */
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, requestFor, timeRequests } from './connection.ts'
import { cpuUs } from './cpu.ts'
import type { Home } from './daemon.ts'
import { shareOneCore } from './one-core.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Measured } from './row.ts'
import type { Workbench } from './workbench.ts'

/** Many short blocks: a burst of other work on the machine then hits both sides. */
const ROUNDS = { full: 200, quick: 50 }
const REQUESTS_PER_BLOCK = 100
/** Until V8 has compiled the hot paths of both. */
const WARM_UP_REQUESTS = 5_000

export async function againstHello(
  bench: Workbench,
  home: Home,
  request: Buffer | readonly Buffer[],
): Promise<Measured<'p50' | 'p99'>> {
  const hello = requestFor(routeTable.health)
  const servers = [await bench.daemon(home), await bench.bareServer(home)] as const
  const [daemon, bare] = await Promise.all([
    openConnection(servers[0].socketPath),
    openConnection(servers[1].socketPath),
  ])
  await timeRequests(daemon, request, WARM_UP_REQUESTS)
  await timeRequests(bare, hello, WARM_UP_REQUESTS)

  const cpuBefore = servers.map(({ pid }) => cpuUs(pid))
  const cores = shareOneCore(servers.map(({ pid }) => pid))
  const taken = await inRounds(ROUNDS[bench.pace], {
    daemon: () => timeRequests(daemon, request, REQUESTS_PER_BLOCK),
    bare: () => timeRequests(bare, hello, REQUESTS_PER_BLOCK),
  }).finally(cores.release)
  const asked = ROUNDS[bench.pace] * REQUESTS_PER_BLOCK
  const [daemonCpuUs = 0, bareCpuUs = 0] = servers.map(({ pid }, n) => (cpuUs(pid) - (cpuBefore[n] ?? 0)) / asked)
  daemon.close()
  bare.close()
  return {
    figures: { p50: ratio(taken.daemon, taken.bare, 0.5), p99: ratio(taken.daemon, taken.bare, 0.99) },
    details: {
      daemonP50Us: 1000 * quantile(taken.daemon.flat(), 0.5),
      daemonP99Us: 1000 * quantile(taken.daemon.flat(), 0.99),
      bareP50Us: 1000 * quantile(taken.bare.flat(), 0.5),
      bareP99Us: 1000 * quantile(taken.bare.flat(), 0.99),
      // For one request.
      daemonCpuUs,
      bareCpuUs,
    },
  }
}
