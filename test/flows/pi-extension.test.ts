import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { piExtension } from '../../client/cli/connect/pi-extension.ts'
import { connectAs } from '../support/connect-as.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'

type Handler = (event: object, context: object) => Promise<unknown>

/** As pi loads it: a module whose default is called with what it may listen to. */
async function load(home: Home) {
  const file = join(home.dir, 'extension.mjs')
  writeFileSync(file, piExtension(home.places.socketPath))
  const { default: extension } = (await import(pathToFileURL(file).href)) as { default: (pi: object) => void }
  const handlers = new Map<string, Handler>()
  extension({ on: (name: string, handler: Handler) => handlers.set(name, handler) })
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const sessionManager = { getSessionId: () => 's', getSessionFile: () => join(home.dir, 's.jsonl') }
  const happens = (name: string, event: object = {}) => handlers.get(name)?.(event, { cwd, sessionManager })
  return { cwd, happens, names: [...handlers.keys()] }
}

const told = (answer: unknown) => (answer as { message?: { content: string } } | undefined)?.message?.content ?? ''

it('the extension for pi tells its model the index first, then what fits each prompt', async () => {
  const home = makeHome()
  const { cwd, happens } = await load(home)
  await startDaemon(home)
  await connectAs(home, 'user').remember({ cwd, text: 'Deploys of the shop go out from the release branch only' })
  await happens('session_start', { reason: 'startup' })
  const first = await happens('before_agent_start', { prompt: 'What is the capital of France?' })
  expect(first).toMatchObject({ message: { customType: 'memoryd', display: false } })
  expect(told(first)).toContain('MEMORY.md')
  expect(told(first)).not.toContain('Memories of earlier work')
  const second = await happens('before_agent_start', { prompt: 'How do I deploy the shop?' })
  expect(told(second)).toContain('Memories of earlier work')
  expect(told(second)).toContain('release branch only')
  expect(told(second)).not.toContain('MEMORY.md')
  await happens('agent_end')
  await happens('session_before_compact')
  expect(told(await happens('before_agent_start', { prompt: 'Go on with the shop' }))).toContain('release branch only')
  await happens('session_shutdown')
})

it('the extension for pi is silent when no daemon answers', async () => {
  const home = makeHome()
  const { happens, names } = await load(home)
  for (const name of names) expect(await happens(name, { prompt: 'How do I deploy the shop?' })).toBeUndefined()
})

it('the extension for pi hangs up on a daemon that hangs, so that nothing that comes too late counts as taken', async () => {
  const home = makeHome()
  mkdirSync(dirname(home.places.socketPath), { recursive: true })
  const hungUp: Promise<unknown>[] = []
  const server = createServer((socket) => void hungUp.push(once(socket.resume(), 'close')))
  await new Promise<void>((resolve) => server.listen(home.places.socketPath, resolve))
  onTestFinished(() => void server.close())
  const { happens } = await load(home)
  expect(await happens('before_agent_start', { prompt: 'How do I deploy the shop?' })).toBeUndefined()
  expect(hungUp).toHaveLength(1)
  await Promise.all(hungUp)
})
