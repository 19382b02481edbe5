/**
 * Every route with its validators. Validation, types, the client's methods and the OpenAPI document follow from this. The
 * daemon itself loads each file of `routes/` when one of its routes is first asked for: all of them would cost every start.
 */
import type { Route } from './route.ts'
import type { RouteName } from './route-table.ts'
import { agentRoutes } from './routes/agents.ts'
import { carryingRoutes } from './routes/carrying.ts'
import { changeRoutes } from './routes/changes.ts'
import { contextRoutes } from './routes/context.ts'
import { healthRoutes } from './routes/health.ts'
import { hookRoutes } from './routes/hooks.ts'
import { jobRoutes } from './routes/jobs.ts'
import { memoryRoutes } from './routes/memories.ts'
import { processRoutes } from './routes/process.ts'
import { recallRoutes } from './routes/recall.ts'
import { sessionRoutes } from './routes/sessions.ts'

export const routes = {
  ...healthRoutes,
  ...processRoutes,
  ...memoryRoutes,
  ...changeRoutes,
  ...sessionRoutes,
  ...recallRoutes,
  ...hookRoutes,
  ...contextRoutes,
  ...jobRoutes,
  ...agentRoutes,
  ...carryingRoutes,
} as const satisfies { [K in RouteName]: Route }
