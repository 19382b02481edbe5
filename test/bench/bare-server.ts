/** The yardstick: fastify's “hello” in a process of its own, with nothing of ours. Run as `bare-server.js <socket>`. */
import fastify from 'fastify'
import { routeTable } from '../../schema/route-table.ts'

const app = fastify()
// As many bytes as the daemon's health, at the same URL, so that both get the same request and send the same answer.
app.get(routeTable.health.url, async () => ({ ok: true, version: '0.1.0', pid: process.pid }))
await app.listen({ path: process.argv[2] as string })
process.once('SIGTERM', () => void app.close())
