/** Every route's method and URL, as plain data: the client needs this and nothing else at run time. */

/** Conversations get a larger limit, route by route. */
export const BODY_LIMIT_BYTES = 1_000_000

export type RouteShape = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  /** A stream of server-sent events instead of one JSON answer. */
  stream?: true
}

export const routeTable = {
  health: { method: 'GET', url: '/v1/health' },
  status: { method: 'GET', url: '/v1/status' },
  openapi: { method: 'GET', url: '/v1/openapi.json' },
  events: { method: 'GET', url: '/v1/events', stream: true },
  pause: { method: 'POST', url: '/v1/pause' },
  resume: { method: 'POST', url: '/v1/resume' },
} as const satisfies Record<string, RouteShape>

export type RouteName = keyof typeof routeTable
