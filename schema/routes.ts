/**
 * Every route with its validators. Validation, types, the client's methods and the OpenAPI document follow from this. The
 * daemon itself loads each file of `routes/` when one of its routes is first asked for: all of them would cost every start.
 */

import { contextRoutes } from './context.ts'
import type { Route } from './contract.ts'
import { eventRoutes } from './event.ts'
import { historyRoutes } from './history.ts'
import { hookRoutes } from './hook.ts'
import { jobRoutes } from './job.ts'
import { mailRoutes } from './mail.ts'
import { memoryRoutes } from './memory.ts'
import { processRoutes } from './process.ts'
import { recallRoutes } from './recall.ts'
import type { RouteName } from './route-table.ts'
import { sessionRoutes } from './session.ts'
import { transferRoutes } from './transfer.ts'

const { pause, resume, ...aboutProcess } = processRoutes

export const routes = {
  ...aboutProcess,
  ...eventRoutes,
  pause,
  resume,
  ...memoryRoutes,
  ...historyRoutes,
  ...sessionRoutes,
  ...recallRoutes,
  ...hookRoutes,
  ...contextRoutes,
  ...jobRoutes,
  ...mailRoutes,
  ...transferRoutes,
} as const satisfies { [K in RouteName]: Route }
