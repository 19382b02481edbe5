/** Health, status, events and the OpenAPI document: the daemon about itself. */
import type { Event } from '../../../schema/event.ts'
import type { Status } from '../../../schema/status.ts'
import type { EventStreams } from '../event-stream.ts'
import type { Handlers } from '../server.ts'

type Deps = { version: string; status: () => Status; streams: EventStreams; connected: () => Event }

export function processRoutes({
  version,
  status,
  streams,
  connected,
}: Deps): Pick<Handlers, 'health' | 'status' | 'events' | 'openapi'> {
  return {
    health: () => ({ ok: true, version, pid: process.pid }),
    status: () => status(),
    events: () => ({ streams, first: connected() }),
    openapi: async () => (await import('../../../schema/openapi.ts')).openApiDocument(version),
  }
}
