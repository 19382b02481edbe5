/** Every route with its validators. Validation, types, the client's methods and the OpenAPI document follow from this. */
import { z } from 'zod'
import type { HttpCode } from './errors.ts'
import { Event } from './event.ts'
import { Health } from './health.ts'
import { type RouteName, type RouteShape, routeTable } from './route-table.ts'
import { Status } from './status.ts'
import { Paused, SwitchRequest } from './switches.ts'

export type Route = RouteShape & {
  summary: string
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  answer: z.ZodType
  /** What this route may answer besides `universalCodes`. */
  errors: readonly HttpCode[]
}

export const routes = {
  health: { ...routeTable.health, summary: 'Whether the daemon answers', answer: Health, errors: [] },
  status: { ...routeTable.status, summary: 'How the daemon is doing', answer: Status, errors: [] },
  openapi: {
    ...routeTable.openapi,
    summary: 'This interface as an OpenAPI 3.1 document',
    answer: z.looseObject({ openapi: z.string() }),
    errors: [],
  },
  events: { ...routeTable.events, summary: 'What happens, as it happens', answer: Event, errors: [] },
  pause: {
    ...routeTable.pause,
    summary: 'Switch capture and recall off, everywhere or below one folder',
    body: SwitchRequest,
    answer: Paused,
    errors: [],
  },
  resume: {
    ...routeTable.resume,
    summary: 'Switch capture and recall on again',
    body: SwitchRequest,
    answer: Paused,
    errors: ['CONFLICT'],
  },
} as const satisfies { [K in RouteName]: Route }
