/** What a route with its validators looks like. */
import type { z } from 'zod'
import type { HttpCode } from './errors.ts'
import type { RouteName, RouteShape } from './route-table.ts'

export type Route = Omit<RouteShape, 'query'> & {
  summary: string
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  /** One line of an upload. */
  line?: z.ZodType
  answer: z.ZodType
  /** What this route may answer besides `universalCodes`. */
  errors: readonly HttpCode[]
}

/** Those of one file of `routes/`. */
export type RouteGroup = { readonly [K in RouteName]?: Route }
