import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createEventStreams } from '../../daemon/http/server.ts'
import { createEvents } from '../../daemon/platform/events.ts'
import type { Event } from '../../schema/event.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'

const change = { type: 'status', state: 'ready', change: 'settings' } as const
const first: Event = { ...change, change: 'connected', at: '2026-01-01T00:00:00.000Z' }

async function streaming() {
  const path = join(makeHome().dir, 's')
  const events = createEvents(manualTime().clock)
  let dropped = 0
  const streams = createEventStreams(events, () => void dropped++)
  let opened = () => {}
  const errors: Error[] = []
  const server = createServer((_request, response) => {
    response.on('error', (error) => errors.push(error))
    streams.open(response, {}, first)
    opened()
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  onTestFinished(() => void server.closeAllConnections())
  const connect = async () => {
    const isOpen = new Promise<void>((resolve) => {
      opened = resolve
    })
    const outgoing = request({ socketPath: path, agent: false }).end()
    outgoing.on('error', () => {})
    await isOpen
    return outgoing
  }
  return { events, streams, connect, errors, dropped: () => dropped }
}

it('drops a reader that does not read, buffers no more than its limit, and goes on serving others', async () => {
  const { events, streams, connect, dropped } = await streaming()
  const lazy = await connect()
  lazy.on('response', (response) => response.pause())
  const closed = new Promise((resolve) => lazy.on('close', resolve))
  // Far more than the kernel's buffers and the limit together; without a limit this would all be kept in memory.
  for (let sent = 0; sent < 100_000 && dropped() === 0; sent++) events.publish(change)
  expect(dropped()).toBe(1)
  await closed
  expect(streams.readers()).toBe(0)

  const keen = await connect()
  const text = new Promise<string>((resolve) =>
    keen.on('response', (response) => response.once('data', (chunk) => resolve(String(chunk)))),
  )
  expect(await text).toContain('event: status\ndata: {"state":"ready","change":"connected"')
  expect(streams.readers()).toBe(1)
})

it('forgets a reader that went away', async () => {
  const { streams, connect, events } = await streaming()
  const reader = await connect()
  expect(streams.readers()).toBe(1)
  reader.destroy()
  // Seen when the server's side of the connection closes.
  while (streams.readers() > 0) await new Promise(setImmediate)
  events.publish(change)
  expect(streams.readers()).toBe(0)
})

it('writes nothing to readers that were told the end', async () => {
  const { streams, connect, events, errors } = await streaming()
  const reader = await connect()
  const ended = new Promise((resolve) => reader.on('response', (response) => response.resume().once('end', resolve)))
  streams.closeAll()
  events.publish(change)
  await ended
  expect(errors).toEqual([])
})
