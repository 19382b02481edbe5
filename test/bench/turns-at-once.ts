/**
 * The socket while twenty sessions end their turns at once and a model is asked about each, against the socket at rest. The
 * model takes a second for an answer, which is quick for one: most of the time the daemon waits for it. `p99AtOnce` tells how
 * it is with one that takes no time at all, where it does nothing but work.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, requestFor, timeRequests } from './connection.ts'
import { quantile } from './rounds.ts'
import type { Row } from './row.ts'
import type { Workbench } from './workbench.ts'

const serverMain = fileURLToPath(new URL('../support/messages-api/main.js', import.meta.url))
const SESSIONS = 20
const PROJECTS = 5
const ROUNDS = { full: 3, quick: 1 }
const ROUNDS_AT_ONCE = { full: 10, quick: 3 }
const ANSWER_MS = 1_000
const REQUESTS = 3_000
const PER_BLOCK = 50
const LONGEST_MS = 120_000

export const turnsAtOnce: Row<'p50' | 'p99' | 'p99AtOnce'> = {
  name: 'turns-at-once',
  what: `GET /v1/health while ${SESSIONS} sessions end turns and a model is asked`,
  yardstick: 'the same at rest',
  goals: { p50: { unit: '×' }, p99: { unit: '×', atMost: 2 }, p99AtOnce: { unit: '×' } },

  run: async (bench) => {
    const usual = await meanwhile(bench, { answerMs: ANSWER_MS, rounds: ROUNDS[bench.pace] })
    const atOnce = await meanwhile(bench, { answerMs: 0, rounds: ROUNDS_AT_ONCE[bench.pace] })
    return {
      figures: {
        p50: { value: quantile(usual.busy, 0.5) / quantile(usual.idle, 0.5) },
        p99: { value: quantile(usual.busy, 0.99) / quantile(usual.idle, 0.99) },
        p99AtOnce: { value: quantile(atOnce.busy, 0.99) / quantile(atOnce.idle, 0.99) },
      },
      details: {
        requestsMeanwhile: usual.busy.length,
        modelRuns: usual.modelRuns,
        idleP99Us: 1000 * quantile(usual.idle, 0.99),
        busyP99Us: 1000 * quantile(usual.busy, 0.99),
        busyLongestUs: 1000 * quantile(usual.busy, 1),
        atOnceP99Us: 1000 * quantile(atOnce.busy, 0.99),
        atOnceLongestUs: 1000 * quantile(atOnce.busy, 1),
      },
    }
  },
}

type Course = { answerMs: number; rounds: number }

/** What requests took at rest, and until all that was to be looked through was. */
async function meanwhile(bench: Workbench, { answerMs, rounds }: Course) {
  const home = bench.home()
  const model = await startModel(answerMs)
  try {
    Object.assign(home.env, { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'scripted' })
    const sessions = Array.from({ length: SESSIONS }, (_, n) => sessionIn(home.dir, n))
    const { socketPath } = await bench.daemon(home)
    const connection = await openConnection(socketPath)
    const request = requestFor(routeTable.health)
    await timeRequests(connection, request, REQUESTS)
    await delay(2_000)
    const idle = await timeRequests(connection, request, REQUESTS)
    const busy: number[] = []
    const status = async () =>
      JSON.parse(String(await connection.ask(requestFor(routeTable.status)))) as {
        jobs: { queued: number; running: number }
      }
    for (let round = 0; round < rounds; round++) {
      const asked = model.asked()
      for (const say of sessions) say(round)
      const begunMs = performance.now()
      for (;;) {
        busy.push(...(await timeRequests(connection, request, PER_BLOCK)))
        const { jobs } = await status()
        if (model.asked() >= asked + SESSIONS && jobs.queued + jobs.running === 0) break
        if (performance.now() - begunMs > LONGEST_MS) throw new Error('the turns were not worked through in time')
        await delay(5)
      }
    }
    connection.close()
    return { idle, busy, modelRuns: model.asked() }
  } finally {
    model.stop()
  }
}

/** A transcript to which a turn is added. */
function sessionIn(home: string, n: number): (round: number) => void {
  const cwd = join(home, `project-${n % PROJECTS}`)
  const folder = join(home, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'))
  mkdirSync(cwd, { recursive: true })
  mkdirSync(folder, { recursive: true })
  const session = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
  return (round) => {
    const common = {
      isSidechain: false,
      sessionId: session,
      cwd,
      version: '2.1.0',
      timestamp: new Date().toISOString(),
    }
    const [asked, answered] = [`${session}-${round}-q`, `${session}-${round}-a`]
    const text = `Please look at module ${round} of ${n}: ${'it does not do what the ticket says. '.repeat(20)}`
    const content = [{ type: 'text', text: 'It is done, and the tests pass. '.repeat(20) }]
    const lines = [
      { ...common, type: 'user', uuid: asked, parentUuid: null, message: { role: 'user', content: text } },
      {
        ...common,
        type: 'assistant',
        uuid: answered,
        parentUuid: asked,
        message: { id: answered, role: 'assistant', model: 'claude', content, stop_reason: 'end_turn' },
      },
    ]
    appendFileSync(join(folder, `${session}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
}

/** In a process of its own: its work is not the daemon's. */
async function startModel(answerMs: number) {
  const child = spawn(process.execPath, [serverMain, '0', String(answerMs)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let asked = 0
  const lines = createInterface({ input: child.stdout })
  const url = await new Promise<string>((resolve) =>
    lines.on('line', (line) => {
      if (/^claude-/.test(line)) asked++
      const found = /answers at (\S+?);/.exec(line)?.[1]
      if (found) resolve(found)
    }),
  )
  return { url, asked: () => asked, stop: () => void child.kill('SIGKILL') }
}
