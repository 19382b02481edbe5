/** Whether the daemon answers, by itself: it is asked before anything else is loaded. */
import { Health } from '../health.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const healthRoutes = {
  health: { ...routeTable.health, summary: 'Whether the daemon answers', answer: Health, errors: [] },
} as const satisfies RouteGroup
