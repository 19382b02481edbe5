/**
 * Run with a folder: a daemon of our sources in this process saves memories out of a transcript and answers hooks of prompts. Prints the
 * source files of which a function ran in every round, on the main and on the reading thread: timers and first times fall out.
 */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '../../client/index.ts'
import { startDaemon } from '../../daemon/daemon.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import { findPlaces } from '../../schema/rendezvous.ts'

type Coverage = { result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[] }

process.umask(0o077)
const dir = process.argv[2] as string
const env = { HOME: dir, PATH: process.env.PATH }
const places = findPlaces(env)
const cwd = join(dir, 'project')
mkdirSync(join(cwd, '.git'), { recursive: true })
mkdirSync(places.stateDir, { recursive: true })
// Notes and dreams hear of the same turn: they are walks of their own.
mkdirSync(dirname(places.configFile), { recursive: true })
writeFileSync(places.configFile, '{ "notes": { "enabled": false }, "dream": { "enabled": false } }', { mode: 0o600 })
const settings = loadSettings(places.configFile, env, dir)
const inspector = new Session()
inspector.connect()
const threads: string[] = []
inspector.on('NodeWorker.attachedToWorker', ({ params }) => threads.push(params.sessionId))
await inspector.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
const clock = createClock()
let aheadMs = 0
const daemon = await startDaemon({
  places,
  settings,
  env,
  clock: { ...clock, now: () => clock.now() + aheadMs },
  version: '0.0.0-test',
  lastStop: 'clean',
  terminal: undefined,
})
const client = connect({ socket: places.socketPath, strict: true })

const untilDone = (kind: string) =>
  new Promise<void>((resolve) => {
    const unsubscribe = daemon.events.subscribe((event) => {
      if (event.type !== 'job' || event.kind !== kind || event.state !== 'done') return
      unsubscribe()
      resolve()
    })
  })

const turn = (id: number, said: string) => {
  const at = new Date(Date.now() - 60_000).toISOString()
  const line = { sessionId: 'one', cwd, version: '2.1.0', timestamp: at, isSidechain: false, parentUuid: null }
  const content = [{ type: 'text', text: 'Done.' }]
  const message = { id: `m${id}`, role: 'assistant', content, stop_reason: 'end_turn' }
  const lines = [
    { ...line, type: 'user', uuid: `u${id}`, message: { role: 'user', content: said } },
    { ...line, type: 'assistant', uuid: `a${id}`, message },
  ]
  const folder = join(dir, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'))
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, 'one.jsonl'), lines.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

const answers = new Map<string, (result: Coverage) => void>()
inspector.on('NodeWorker.receivedMessageFromWorker', ({ params: { sessionId, message } }) => {
  const { id, result } = JSON.parse(message) as { id: number; result: Coverage }
  answers.get(`${sessionId} ${id}`)?.(result)
})
let asked = 0
const askThread = (sessionId: string, method: string, params: object) =>
  new Promise<Coverage>((resolve) => {
    const id = ++asked
    answers.set(`${sessionId} ${id}`, resolve)
    const message = JSON.stringify({ id, method, params })
    void inspector.post('NodeWorker.sendMessageToWorker', { sessionId, message })
  })
const onAll = async (method: string, params = {}) => [
  (await inspector.post(method, params)) as unknown as Coverage,
  ...(await Promise.all(threads.map((thread) => askThread(thread, method, params)))),
]

const root = new URL('../..', import.meta.url).href
/** What ran of our own functions; that a module was loaded does not count. */
async function walk(act: () => Promise<unknown>): Promise<Set<string>> {
  await onAll('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await act()
  const coverages = await onAll('Profiler.takePreciseCoverage')
  await onAll('Profiler.stopPreciseCoverage')
  const ran = coverages
    .flatMap(({ result }) => result)
    .filter(({ url }) => /\/(daemon|schema)\/.*\.ts$/.test(url) && url.startsWith(root))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName && (ranges[0]?.count ?? 0) > 0),
    )
  return new Set(ran.map(({ url }) => fileURLToPath(url).slice(fileURLToPath(root).length)))
}

// The reading thread starts with the first line.
const isRead = untilDone('extract')
turn(0, 'Use two spaces.')
await Promise.all([untilDone('housekeeping'), isRead])
await onAll('Profiler.enable')
const saves: Set<string>[] = []
for (const [at, said] of ['Always use spaces.', 'Never deploy on Fridays.', 'Never push to main.'].entries())
  saves.push(
    await walk(async () => {
      const extracted = untilDone('extract')
      turn(at + 1, said)
      await extracted
    }),
  )
// Files that were just written are read again with each question.
aheadMs = 10_000
const question = { hook_event_name: 'UserPromptSubmit', cwd, prompt: 'May I deploy on Fridays?' }
const ask = (session: string) => client.hook({ harness: 'claude-code', ...question, session_id: session })
await ask('first')
const hooks: Set<string>[] = []
for (const session of ['second', 'third', 'fourth']) hooks.push(await walk(() => ask(session)))
inspector.disconnect()
client.close()
// What a stopping daemon waits for keeps no process alive.
const waiting = setInterval(() => {}, 1_000)
await daemon.stop(10_000)
clearInterval(waiting)
const inEach = ([first, ...others]: Set<string>[]) =>
  [...(first ?? [])].filter((file) => others.every((files) => files.has(file)))
process.stdout.write(JSON.stringify({ save: inEach(saves), hook: inEach(hooks) }))
