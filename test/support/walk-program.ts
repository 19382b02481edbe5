/**
 * Run with a folder: a daemon of our sources in this process saves one memory out of a transcript, then answers one hook prompt.
 * Prints the source files of which a function ran on the main thread, for each. With NODE_V8_COVERAGE Node writes what the reading
 * thread ran.
 */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '../../client/index.ts'
import { startDaemon } from '../../daemon/daemon.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import type { Event } from '../../schema/event.ts'
import { findPlaces } from '../../schema/rendezvous.ts'

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
const daemon = await startDaemon({
  ...{ places, settings, env, clock: createClock(), version: '0.0.0-test' },
  ...{ lastStop: 'clean', terminal: undefined },
})
const client = connect({ socket: places.socketPath, strict: true })
const until = async (isIt: (event: Event) => boolean) => {
  for await (const event of client.events()) if (isIt(event)) return
}
const ended = (kind: string) => until((event) => event.type === 'job' && event.kind === kind && event.state === 'done')

const turn = (id: number, said: string, answer: string) => {
  const at = new Date(Date.now() - 60_000).toISOString()
  const line = { sessionId: 'one', cwd, version: '2.1.0', timestamp: at, isSidechain: false, parentUuid: null }
  const message = {
    id: `m${id}`,
    role: 'assistant',
    content: [{ type: 'text', text: answer }],
    stop_reason: 'end_turn',
  }
  const lines = [
    { ...line, type: 'user', uuid: `u${id}`, message: { role: 'user', content: said } },
    { ...line, type: 'assistant', uuid: `a${id}`, message },
  ]
  const folder = join(dir, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'))
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, 'one.jsonl'), lines.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')

const root = new URL('../..', import.meta.url).href
/** What ran of our own functions; that a module was loaded does not count. */
async function walk(act: () => Promise<unknown>): Promise<string[]> {
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await act()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  await inspector.post('Profiler.stopPreciseCoverage')
  return result
    .filter(({ url }) => /\/(daemon|schema)\/.*\.ts$/.test(url) && url.startsWith(root))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => fileURLToPath(url).slice(fileURLToPath(root).length))
}

// All that a daemon does once is over before: its first housekeeping, the first reading, the first question.
await ended('housekeeping')
turn(1, 'Always run the linter before a commit.', 'Done.')
await ended('extract')
const extracted = ended('extract')
const save = await walk(async () => {
  turn(2, 'Never deploy on Fridays.', 'Done.')
  await until((event) => event.type === 'saved')
})
// What the job still does after its memory is saved is no part of a recall.
await extracted
const ask = (session_id: string) =>
  client.hook({
    harness: 'claude-code',
    ...{ hook_event_name: 'UserPromptSubmit', session_id, cwd, prompt: 'May I deploy on Fridays?' },
  })
await ask('first')
const hook = await walk(() => ask('second'))
inspector.disconnect()
client.close()
// What a stopping daemon waits for keeps no process alive.
const waiting = setInterval(() => {}, 1_000)
await daemon.stop(10_000)
clearInterval(waiting)
process.stdout.write(JSON.stringify({ save, hook }))
