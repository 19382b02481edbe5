/**
 * Every route with its validators: types, the client's methods and the OpenAPI document follow from this. The daemon itself
 * loads a noun's file with the first request of one of its routes: all of them would slow every start.
 */
import { contextRoutes } from './context.ts'
import type { RouteSchemas } from './contract.ts'
import { eventRoutes } from './event.ts'
import { historyRoutes } from './history.ts'
import { hookRoutes } from './hook.ts'
import { jobRoutes } from './job.ts'
import { mailRoutes } from './mail.ts'
import { memoryRoutes } from './memory.ts'
import { processRoutes } from './process.ts'
import { recallRoutes } from './recall.ts'
import { type RouteName, routeTable } from './route-table.ts'
import { sessionRoutes } from './session.ts'
import { transferRoutes } from './transfer.ts'

const schemas = {
  ...processRoutes,
  ...eventRoutes,
  ...memoryRoutes,
  ...historyRoutes,
  ...sessionRoutes,
  ...recallRoutes,
  ...hookRoutes,
  ...contextRoutes,
  ...jobRoutes,
  ...mailRoutes,
  ...transferRoutes,
} satisfies { [K in RouteName]: RouteSchemas }

export const routes = Object.fromEntries(
  Object.entries(schemas).map(([name, each]) => [name, { ...routeTable[name as RouteName], ...each }]),
) as { [K in RouteName]: Omit<(typeof routeTable)[K], 'query'> & (typeof schemas)[K] }
