/** The daemon about itself over HTTP: health, status and the OpenAPI document, and where it is paused. */
import type { Status } from '../../../schema/process.ts'
import { PROTOCOL } from '../../../schema/rendezvous.ts'
import type { Core } from '../../core.ts'
import type { Projects } from '../../projects/projects.ts'
import { routeFile } from '../request.ts'

/** The part of `status` that other services know. */
type Parts = Pick<Status, 'mode' | 'projects' | 'roots' | 'ingest' | 'jobs' | 'harnesses' | 'budget'>

export const processRoutes = ({ version, health, places, clock }: Core, projects: Projects, parts: () => Parts) => {
  const startedAt = new Date(clock.now()).toISOString()
  return routeFile(async () => (await import('../../../schema/process.ts')).processRoutes, {
    health: () => ({ ok: true, version, pid: process.pid }),
    status: () => ({
      ...parts(),
      paused: projects.paused(),
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
    openapi: async () => (await import('../../../schema/openapi.ts')).openApiDocument(version),
    pause: ({ body }) => projects.pause(body.cwd),
    resume: ({ body }) => projects.resume(body.cwd),
  })
}
