/** The daemon about itself. */
import { z } from 'zod'
import { Event } from '../event.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'
import { Status } from '../status.ts'
import { Paused, SwitchRequest } from '../switches.ts'

export const processRoutes = {
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
} as const satisfies RouteGroup
