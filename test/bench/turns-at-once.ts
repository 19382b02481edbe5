/**
 * The socket while twenty sessions end their turns at once, against the socket at rest. With a model that takes a second for an
 * answer, which is quick for one, with one that takes no time at all, and with none, so that rules look through what was said.
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

const serverMain = fileURLToPath(new URL('../support/messages-api/main.ts', import.meta.url))
const SESSIONS = 20
const PROJECTS = 5
const ROUNDS = { full: 3, quick: 1 }
/** They are short without a model that is waited for. */
const MORE_ROUNDS = 3
const ANSWER_MS = 1_000
/** Until V8 has compiled the hot paths of both sides. */
const WARM_UP_REQUESTS = 20_000
const PER_BLOCK = 50
const PAUSE_MS = 5
/** As many before and after. */
const BLOCKS_AT_REST = 200
const LONGEST_MS = 120_000

type Figures = 'p50' | 'p99' | 'p99Instant' | 'p99Offline'

export const turnsAtOnce: Row<Figures> = {
  name: 'turns-at-once',
  what: `GET /v1/health while ${SESSIONS} sessions end turns: a model takes a second, no time, or there is none`,
  yardstick: 'the same at rest',
  goals: {
    p50: { unit: '×' },
    p99: { unit: '×', atMost: 2 },
    p99Instant: { unit: '×', atMost: 2 },
    p99Offline: { unit: '×', atMost: 2 },
  },

  run: async (bench) => {
    const rounds = ROUNDS[bench.pace]
    const usual = await withModel(bench, { answerMs: ANSWER_MS, rounds })
    const instant = await withModel(bench, { answerMs: 0, rounds: rounds * MORE_ROUNDS })
    const offline = await meanwhile(bench, { rounds: rounds * MORE_ROUNDS })
    const against = (share: number, { busy, idle }: Taken) => ({ value: quantile(busy, share) / quantile(idle, share) })
    return {
      figures: {
        p50: against(0.5, usual),
        p99: against(0.99, usual),
        p99Instant: against(0.99, instant),
        p99Offline: against(0.99, offline),
      },
      details: { ...detailsOf('usual', usual), ...detailsOf('instant', instant), ...detailsOf('offline', offline) },
    }
  },
}

/** What requests took, in ms. */
type Taken = { idle: number[]; busy: number[] }
type Model = Awaited<ReturnType<typeof startModel>>
type Status = { jobs: { queued: number; running: number } }

function detailsOf(name: string, { idle, busy }: Taken): Record<string, number> {
  return {
    [`${name}Requests`]: busy.length,
    [`${name}IdleP99Us`]: 1000 * quantile(idle, 0.99),
    [`${name}P99Us`]: 1000 * quantile(busy, 0.99),
    [`${name}LongestUs`]: 1000 * quantile(busy, 1),
  }
}

async function withModel(bench: Workbench, { answerMs, rounds }: { answerMs: number; rounds: number }): Promise<Taken> {
  const model = await startModel(answerMs)
  try {
    return await meanwhile(bench, { rounds, model })
  } finally {
    model.stop()
  }
}

/** At rest, before and after, and until all that was to be looked through was. */
async function meanwhile(bench: Workbench, { rounds, model }: { rounds: number; model?: Model }): Promise<Taken> {
  const home = bench.home()
  if (model) Object.assign(home.env, { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'scripted' })
  const sessions = Array.from({ length: SESSIONS }, (_, n) => sessionIn(home.dir, n))
  const { socketPath } = await bench.daemon(home)
  const connection = await openConnection(socketPath)
  const request = requestFor(routeTable.health)
  /** At the same pace at rest and meanwhile: what comes after a pause takes longer than what comes after a request. */
  const look = async (into: number[]) => {
    into.push(...(await timeRequests(connection, request, PER_BLOCK)))
    const { jobs } = JSON.parse(String(await connection.ask(requestFor(routeTable.status)))) as Status
    await delay(PAUSE_MS)
    return jobs.queued + jobs.running
  }
  await timeRequests(connection, request, WARM_UP_REQUESTS)
  const taken: Taken = { idle: [], busy: [] }
  for (let block = 0; block < BLOCKS_AT_REST; block++) await look(taken.idle)
  for (let round = 0; round < rounds; round++) {
    const asked = model?.asked() ?? 0
    for (const say of sessions) say(round)
    const begunMs = performance.now()
    let isBegun = false
    for (;;) {
      const left = await look(taken.busy)
      isBegun ||= left > 0
      if (isBegun && left === 0 && (!model || model.asked() >= asked + SESSIONS)) break
      if (performance.now() - begunMs > LONGEST_MS) throw new Error('the turns were not worked through in time')
    }
  }
  for (let block = 0; block < BLOCKS_AT_REST; block++) await look(taken.idle)
  connection.close()
  return taken
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
