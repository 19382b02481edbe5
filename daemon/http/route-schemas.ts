/** The validators of routes, loaded with the first request that needs them and at hand from then on. */
import type { Route, RouteGroup } from '../../schema/route.ts'
import { type RouteName, type RouteNoun, routeTable } from '../../schema/route-table.ts'

type Load = () => Promise<RouteGroup>

const health: Load = async () => (await import('../../schema/routes/health.ts')).healthRoutes
const itself: Load = async () => (await import('../../schema/routes/process.ts')).processRoutes
const memories: Load = async () => (await import('../../schema/routes/memories.ts')).memoryRoutes
const carrying: Load = async () => (await import('../../schema/routes/carrying.ts')).carryingRoutes
const changes: Load = async () => (await import('../../schema/routes/changes.ts')).changeRoutes
const sessions: Load = async () => (await import('../../schema/routes/sessions.ts')).sessionRoutes
const jobs: Load = async () => (await import('../../schema/routes/jobs.ts')).jobRoutes
const agents: Load = async () => (await import('../../schema/routes/agents.ts')).agentRoutes
const context: Load = async () => (await import('../../schema/routes/context.ts')).contextRoutes
const recall: Load = async () => (await import('../../schema/routes/recall.ts')).recallRoutes
const hooks: Load = async () => (await import('../../schema/routes/hooks.ts')).hookRoutes

/** By what an address begins with. */
const files: Record<RouteNoun, Load> = {
  health,
  status: itself,
  'openapi.json': itself,
  events: itself,
  pause: itself,
  resume: itself,
  memory: memories,
  memories,
  remember: memories,
  instructions: memories,
  export: carrying,
  projects: carrying,
  changes,
  runs: changes,
  tombstones: changes,
  review: changes,
  sessions,
  turns: sessions,
  import: sessions,
  search: sessions,
  jobs,
  dream: jobs,
  cost: jobs,
  agents,
  mail: agents,
  context,
  'tool-results': context,
  recall,
  hooks,
}

export type RouteSchemas = {
  load(name: RouteName): Promise<Route>
  /** `undefined` until it was loaded. */
  known(name: RouteName): Route | undefined
}

export function createRouteSchemas(): RouteSchemas {
  const known = new Map<RouteName, Route>()
  return {
    load: async (name) => {
      const [, , noun] = routeTable[name].url.split('/')
      const group = await files[noun as RouteNoun]()
      for (const [each, route] of Object.entries(group)) known.set(each as RouteName, route)
      return group[name] as Route
    },
    known: (name) => known.get(name),
  }
}
