import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { routeFile } from '../../daemon/http/request.ts'
import { createServer } from '../../daemon/http/server.ts'
import type { Handlers } from '../../schema/contract.ts'
import { routes } from '../../schema/routes.ts'
import { testCore } from '../support/core.ts'
import { rawRequest } from '../support/raw.ts'

const json = { 'content-type': 'application/json' }
const NOTHING = { mode: 'local' as const, memories: [], text: '', bytes: 0, sessionBytes: 0 }

/** A server whose hooks are answered when the test says so. Time stands still. */
async function serve() {
  const { core, places } = await testCore()
  const order: string[] = []
  let arrived = 0
  const { admit } = core.givingWay
  const givingWay = {
    ...core.givingWay,
    admit: () => {
      arrived++
      return admit()
    },
  }
  const hook = { begun: Promise.withResolvers<void>(), answer: Promise.withResolvers<void>() }
  const handlers: Partial<Handlers> = {
    hook: async () => {
      hook.begun.resolve()
      await hook.answer.promise
      order.push('hook')
      return undefined
    },
    recall: async () => {
      order.push('recall')
      return NOTHING
    },
    jobs: () => {
      order.push('jobs')
      return { items: [] }
    },
  }
  const server = createServer({ ...core, givingWay })
  server.add(routeFile(async () => routes, handlers as Handlers))
  await server.listen()
  onTestFinished(() => server.stop(AbortSignal.abort()))
  const post = (path: string, body: object) =>
    rawRequest(places.socketPath, { method: 'POST', path, headers: json, body: JSON.stringify(body) })
  return {
    order,
    hook,
    piece: () => givingWay.turn().then(() => order.push('piece')),
    askHook: () => post('/v1/hooks/claude-code', {}),
    askRecall: () => post('/v1/recall', { cwd: '/x', query: 'y' }),
    askJobs: () => rawRequest(places.socketPath, { path: '/v1/jobs' }),
    untilArrived: async (count: number) => {
      while (arrived < count) await turn()
    },
  }
}

it('answers hooks and recalls before requests and background work that wait longer, and loses none of these', async () => {
  const { order, hook, piece, askHook, askRecall, askJobs, untilArrived } = await serve()
  const hooked = askHook()
  await hook.begun.promise
  const pieces = [piece(), piece(), piece()]
  const listed = [askJobs(), askJobs(), askJobs()]
  await untilArrived(listed.length)
  await askRecall()
  hook.answer.resolve()
  await Promise.all([hooked, ...pieces, ...listed])
  expect(order).toEqual(['recall', 'hook', 'jobs', 'jobs', 'jobs', 'piece', 'piece', 'piece'])
})

it('lets 256 requests wait for a hook, refuses the next with what helps, and answers all that it let wait', async () => {
  const { hook, askHook, askRecall, askJobs, untilArrived } = await serve()
  const hooked = askHook()
  await hook.begun.promise
  const waiting = Array.from({ length: 256 }, askJobs)
  await untilArrived(waiting.length)
  const refused = await askJobs()
  expect({ status: refused.status, ...JSON.parse(refused.body).error }).toEqual({
    status: 503,
    code: 'DEGRADED',
    message: '256 requests wait for hooks and recalls to be answered',
    hint: 'ask again in a moment, and fewer at once',
  })
  expect((await askRecall()).status).toBe(200)
  hook.answer.resolve()
  expect((await hooked).status).toBe(204)
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(waiting.map(() => 200))
})
