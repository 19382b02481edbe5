/** The OpenAPI 3.1 document, made from the routes on request. */
import { z } from 'zod'
import type { Route } from './contract.ts'
import { type HttpCode, httpStatus, universalCodes } from './errors.ts'
import { PROTOCOL, PROTOCOL_HEADER } from './rendezvous.ts'
import { JSON_LINES } from './route-table.ts'
import { routes } from './routes.ts'

type Json = Record<string, unknown>

const mediaTypes = { json: 'application/json', events: 'text/event-stream', lines: JSON_LINES, text: 'text/plain' }

export function openApiDocument(version: string): Json & { openapi: string } {
  const paths: Record<string, Json> = {}
  for (const [name, route] of Object.entries(routes) as [string, Route][]) {
    const path = route.url.replace(/:(\w+)/g, '{$1}').replace('*', '{file}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'memoryd', version, description: 'HTTP over a Unix socket; there is no TCP port.' },
    paths,
    components: { schemas: { Error: errorSchema() } },
  }
}

function operation(name: string, route: Route): Json {
  const body = route.body ?? route.line
  const answer = contentOf(route.stream ?? route.plain ?? 'json', route.answer, 'output')
  const answered = { description: route.answer.description ?? route.summary, ...answer }
  return {
    operationId: name,
    summary: route.summary,
    parameters: [
      { name: PROTOCOL_HEADER, in: 'header', required: false, schema: { type: 'string', const: String(PROTOCOL) } },
      ...parameters('path', route.params),
      ...parameters('query', route.query),
    ],
    ...(body && { requestBody: contentOf(route.line ? 'lines' : 'json', body, 'input') }),
    responses: {
      ...(route.begins && { 200: answered }),
      [route.status ?? 200]: answered,
      ...(route.plain && { 204: { description: 'Nothing' } }),
      ...errorResponses([...universalCodes, ...(route.errors ?? [])]),
    },
  }
}

function contentOf(form: keyof typeof mediaTypes, schema: z.ZodType, io: 'input' | 'output'): Json {
  return { content: { [mediaTypes[form]]: { schema: jsonSchema(schema, io) } } }
}

function parameters(place: 'path' | 'query', shape: z.ZodObject | undefined): Json[] {
  if (!shape) return []
  const { properties = {}, required = [] } = z.toJSONSchema(shape, { io: 'input' })
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema,
  }))
}

function errorResponses(codes: readonly HttpCode[]): Json {
  const responses: Record<string, { description: string; content: Json }> = {}
  for (const code of new Set(codes)) {
    const status = String(httpStatus[code])
    const before = responses[status]?.description
    responses[status] = {
      description: before ? `${before}, ${code}` : code,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    }
  }
  return responses
}

function errorSchema(): Json {
  const text = { type: 'string' }
  const properties = { code: { enum: Object.keys(httpStatus) }, message: text, hint: text, reason: text }
  return {
    type: 'object',
    properties: { error: { type: 'object', properties, required: ['code', 'message'] } },
    required: ['error'],
  }
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io })
  return rest
}
