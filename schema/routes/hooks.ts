/** Hooks of harnesses. */
import { HookInput, HookOutput, HookParams } from '../hook.ts'
import type { RouteGroup } from '../route.ts'
import { routeTable } from '../route-table.ts'

export const hookRoutes = {
  hook: {
    ...routeTable.hook,
    summary: 'What a hook of a harness was given; answers what the hook is to print',
    params: HookParams,
    body: HookInput,
    answer: HookOutput,
    errors: [],
  },
} as const satisfies RouteGroup
