/** Health, status, events and the OpenAPI document: the daemon about itself. */
import { PROTOCOL } from '../../../schema/rendezvous.ts'
import type { Status } from '../../../schema/status.ts'
import type { Core } from '../../core.ts'
import type { EventStreams } from '../event-stream.ts'
import type { Handlers } from '../server.ts'

/** The part of `status` that other services know. */
type Parts = Pick<Status, 'mode' | 'paused' | 'projects' | 'roots' | 'ingest' | 'jobs' | 'harnesses' | 'budget'>

export function processRoutes(
  { version, health, places, clock }: Core,
  streams: EventStreams,
  parts: () => Parts,
): Pick<Handlers, 'health' | 'status' | 'events' | 'openapi'> {
  const startedAt = new Date(clock.now()).toISOString()
  return {
    health: () => ({ ok: true, version, pid: process.pid }),
    status: () => ({
      ...parts(),
      state: health.state(),
      reasons: health.list(),
      version,
      protocol: PROTOCOL,
      pid: process.pid,
      startedAt,
      socket: places.socketPath,
      stateDir: places.stateDir,
      configFile: places.configFile,
      errors: health.failures(),
    }),
    events: () => ({ streams, first: health.connected() }),
    openapi: async () => (await import('../../../schema/openapi.ts')).openApiDocument(version),
  }
}
