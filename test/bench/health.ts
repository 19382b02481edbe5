/** What the daemon's own layers (validation, protocol check, error form) add to one exchange. */
import { routeTable } from '../../schema/route-table.ts'
import { againstHello } from './against-hello.ts'
import { requestFor } from './connection.ts'
import type { Row } from './row.ts'

export const health: Row<'p50' | 'p99'> = {
  name: 'health',
  what: 'GET /v1/health over the socket',
  yardstick: 'the same answer from a bare fastify',
  goals: { p50: { unit: '×', atMost: 1.3 }, p99: { unit: '×' } },
  run: (bench) => againstHello(bench, bench.home(), requestFor(routeTable.health)),
}
