import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createDelivery } from '../../daemon/http/server.ts'
import { makeHome } from '../support/home.ts'

const ASK = 'GET / HTTP/1.1\r\nhost: memoryd\r\n\r\n'

/** A server that answers when it is told to; `log` has every answer that was taken. */
async function open() {
  const path = join(makeHome().dir, 's.sock')
  const server = createServer()
  const onceTaken = createDelivery(server)
  const log: string[] = []
  server.listen(path)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const asked = async (): Promise<ServerResponse> => (await once(server, 'request'))[1] as ServerResponse
  const answer = async (response: ServerResponse, name: string) => {
    onceTaken(response, { onSent: () => log.push(name), onLost: () => log.push(`${name} lost`) })
    response.end(name)
    if (!response.destroyed) await Promise.race([once(response, 'finish'), once(response, 'close')])
  }
  const connect = (): Socket => {
    const client = createConnection(path)
    client.pause()
    client.write(ASK)
    return client
  }
  /** Once the server has nothing to do with its caller any more, for whatever reason. */
  const closed = async () => {
    const [socket] = (await once(server, 'connection')) as [Socket]
    const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    return () => gone
  }
  return { log, asked, answer, connect, closed }
}

it('takes an answer for taken when it was read and the connection ended', async () => {
  const { log, asked, answer, connect, closed } = await open()
  const peer = closed()
  const response = asked()
  const client = connect()
  await answer(await response, 'one')
  expect(log).toEqual([])
  client.resume()
  await once(client, 'data')
  client.end()
  await (await peer)()
  expect(log).toEqual(['one'])
})

it('and when the connection is used again', async () => {
  const { log, asked, answer, connect } = await open()
  const first = asked()
  const client = connect()
  await answer(await first, 'one')
  const second = asked()
  client.write(ASK)
  await second
  expect(log).toEqual(['one'])
  client.destroy()
})

it('but not when it was not read', async () => {
  const { log, asked, answer, connect, closed } = await open()
  const peer = closed()
  const response = asked()
  const client = connect()
  await answer(await response, 'one')
  client.destroy()
  await (await peer)()
  expect(log).toEqual(['one lost'])
})

it('nor when the caller was gone before it was written', async () => {
  const { log, asked, answer, connect, closed } = await open()
  const peer = closed()
  const response = asked()
  const client = connect()
  const given = await response
  client.destroy()
  await once(client, 'close')
  await answer(given, 'one')
  await (await peer)()
  expect(log).toEqual(['one lost'])
})
