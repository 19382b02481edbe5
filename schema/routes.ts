/** Every route with its validators. The daemon loads a noun's file with its first request: all would slow its start. */
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
