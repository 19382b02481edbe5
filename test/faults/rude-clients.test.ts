import { readFileSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { rawRequest } from '../support/raw.ts'

const CLIENTS = 20
/** Half of a minute is what a stop waits for work; one that waits for these callers takes longer than that. */
const SOON = { timeout: 25_000 }
const REQUEST = 'GET /v1/openapi.json HTTP/1.1\r\n\r\n'

/** Sends so many requests at once, and reads no answer. Resolves when the first one has come, or the connection was ended. */
function askWithoutReading(path: string, requests: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = dial(path)
    onTestFinished(() => void socket.destroy())
    for (const event of ['error', 'close', 'readable']) socket.on(event, () => resolve())
    socket.write(REQUEST.repeat(requests))
  })
}

const memoryMb = (pid: number) =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

it.runIf(process.platform === 'linux')(
  'answers others while callers send thousands of requests and read nothing, and ends when it is told to',
  SOON,
  async () => {
    const home = makeHome()
    const { client, pid, stop } = await startDaemon(home)
    const rude = Array.from({ length: CLIENTS }, () => askWithoutReading(home.places.socketPath, 10_000))
    for (let n = 0; n < 20; n++) expect(await client.health()).toMatchObject({ ok: true })
    await Promise.all(rude)
    expect(await client.openapi()).toMatchObject({ openapi: '3.1.0' })
    expect(memoryMb(pid)).toBeLessThan(300)
    expect(await stop()).toMatchObject({ code: 0 })
  },
)

it('answers the requests that a caller sends ahead, in their order', async () => {
  const home = makeHome()
  await startDaemon(home)
  const socket = dial(home.places.socketPath)
  const paths = Array.from({ length: 8 }, (_, n) => `/v1/nothing-${n}`)
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n\r\n`).join(''))
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (text.includes('nothing-7')) break
  }
  expect(text.match(/\/v1\/nothing-\d/g)).toEqual(paths)
})

it('does not wait for a caller that leaves its answers unread when it is told to stop', SOON, async () => {
  const home = makeHome()
  const { client, stop } = await startDaemon(home)
  await Promise.all(Array.from({ length: CLIENTS }, () => askWithoutReading(home.places.socketPath, 8)))
  await client.health()
  expect(await stop()).toMatchObject({ code: 0 })
})

it('is heard by callers of whose body it reads nothing', async () => {
  const home = makeHome()
  await startDaemon(home)
  const asked = { 'POST /v1/remember': 413, 'GET /v1/health': 400, 'GET /v1/nothing': 404 }
  const body = 'x'.repeat(5_000_000)
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  const answers = new Set<string>()
  for (let n = 0; n < 8; n++)
    for (const route of Object.keys(asked)) {
      const [method = '', path = ''] = route.split(' ')
      const answer = rawRequest(home.places.socketPath, { method, path, headers, body })
      answers.add(
        await answer.then(
          ({ status }) => `${route} ${status}`,
          (error) => `${route} ${error}`,
        ),
      )
    }
  expect([...answers].sort()).toEqual(
    Object.entries(asked)
      .map(([route, status]) => `${route} ${status}`)
      .sort(),
  )
})
