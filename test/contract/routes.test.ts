import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { connect } from '../../client/index.ts'
import type { Route } from '../../schema/contract.ts'
import { exitCodes, httpStatus, localCodes, universalCodes } from '../../schema/errors.ts'
import { openApiDocument } from '../../schema/openapi.ts'
import { routeTable } from '../../schema/route-table.ts'
import { routes } from '../../schema/routes.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { rawRequest } from '../support/raw.ts'
import { projectRoot } from '../support/sources.ts'

type Operation = { operationId: string; responses: Record<string, { description: string }> }

const page = readFileSync(join(projectRoot, 'docs/api.md'), 'utf8')
const document = openApiDocument('0.0.0') as unknown as { paths: Record<string, Record<string, Operation>> }
const operations = Object.values(document.paths).flatMap((path) => Object.values(path))

describe('the contract', () => {
  it('has validators for exactly the routes of the plain table', () => {
    expect(Object.keys(routes).sort()).toEqual(Object.keys(routeTable).sort())
    for (const [name, { method, url }] of Object.entries(routeTable))
      expect(routes).toHaveProperty(name, expect.objectContaining({ method, url }))
  })

  it('has a client method for every route', () => {
    const client = connect({ socket: '/nowhere' }) as unknown as Record<string, unknown>
    for (const name of Object.keys(routes)) expect(client[name], name).toBeTypeOf('function')
  })

  it('has an OpenAPI entry for every route, in a document that is valid OpenAPI 3.1', async () => {
    expect(operations.map((operation) => operation.operationId).sort()).toEqual(Object.keys(routes).sort())
    const result = await new Validator().validate(structuredClone(document))
    expect(result).toMatchObject({ valid: true })
  })

  it('refuses unknown fields in every input, by the form of its validator', () => {
    // Harnesses drift from version to version: what their hooks send is let through as it is.
    for (const [name, route] of Object.entries(routes) as [string, Route][])
      for (const input of [route.params, route.query, route.body])
        if (input && input !== routes.hook.body)
          expect(z.toJSONSchema(input, { io: 'input' }), name).toMatchObject({ additionalProperties: false })
  })

  it('documents every error code a route may answer with', () => {
    for (const { operationId, responses } of operations) {
      const route = routes[operationId as keyof typeof routes] as Route
      for (const code of [...universalCodes, ...(route.errors ?? [])]) {
        expect(responses[httpStatus[code]]?.description.split(', '), `${operationId} ${code}`).toContain(code)
      }
    }
  })

  it('lists in docs/api.md exactly the error codes and exit codes there are', () => {
    const coded = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d+)/gm)].map(([, code, status]) => [code, Number(status)])
    expect(Object.fromEntries(coded)).toEqual(httpStatus)
    for (const code of localCodes) expect(page).toContain(`\`${code}\``)
    const exits = [...page.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => Number(code))
    expect(exits).toEqual(Object.values(exitCodes))
  })

  it('is what a running daemon publishes, and every route of it answers or refuses in the one error form', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    const published = (await daemon.client.openapi()) as unknown as { paths: Record<string, Record<string, unknown>> }
    expect(Object.keys(published.paths)).toEqual(Object.keys(document.paths))
    for (const { method, url } of Object.values(routes)) {
      const path = url.replace(':id', '1').replace('*', 'x.md')
      const refused = await rawRequest(home.places.socketPath, { method, path: `${path}?surprise=1` })
      expect({ url, status: refused.status }).toEqual({ url, status: 400 })
      expect(JSON.parse(refused.body)).toEqual({
        error: { code: 'BAD_REQUEST', message: expect.stringContaining('surprise') },
      })
    }
  })
})
