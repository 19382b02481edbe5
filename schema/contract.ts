/** The types of every route, derived from its validators. */
import type { z } from 'zod'
import type { Caller } from './caller.ts'
import type { HttpCode } from './errors.ts'
import type { RouteName, RouteShape } from './route-table.ts'
import type { routes } from './routes.ts'

type Routes = typeof routes
type Part<K extends RouteName, P extends string, Direction extends 'input' | 'output'> = Routes[K] extends {
  [_ in P]: infer S extends z.ZodType
}
  ? Direction extends 'input'
    ? z.input<S>
    : z.output<S>
  : Record<never, never>

type Upload<K extends RouteName> = Routes[K] extends { upload: 'lines' }
  ? { lines: AsyncIterable<Uint8Array> }
  : Record<never, never>

/** What a caller sends and gets back. The client package ships this type written out without zod. */
export type Contract = {
  [K in RouteName]: {
    input: Part<K, 'params', 'input'> & Part<K, 'query', 'input'> & Part<K, 'body', 'input'> & Upload<K>
    answer: Part<K, 'answer', 'output'> | (Routes[K] extends { plain: 'text' } ? undefined : never)
  }
}

/** `onSent`: the caller has taken all of it. `onLost`: the caller hung up before. */
export type PlainText = { text: string; onSent?: () => void; onLost?: () => void }

type Handled<K extends RouteName> = Routes[K] extends { stream: 'lines' }
  ? AsyncIterable<string>
  : Routes[K] extends { plain: 'text' }
    ? PlainText | undefined
    : Part<K, 'answer', 'input'>

type Call<K extends RouteName> = {
  params: Part<K, 'params', 'output'>
  query: Part<K, 'query', 'output'>
  body: Part<K, 'body', 'output'>
  caller: Caller
  signal: AbortSignal
} & Upload<K>

/** Handlers are called after validation. */
export type Handlers = { [K in Exclude<RouteName, 'events'>]: (call: Call<K>) => Handled<K> | Promise<Handled<K>> }

export type RouteSchemas = {
  summary: string
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  line?: z.ZodType
  answer: z.ZodType
  /** Fields that reach the disk as they are: one with a credential in it is refused. */
  kept?: readonly string[]
  /** What this route may answer besides `universalCodes`. */
  errors?: readonly HttpCode[]
}
export type Route = Omit<RouteShape, 'query'> & RouteSchemas
export type RouteGroup = { readonly [K in RouteName]?: RouteSchemas }
