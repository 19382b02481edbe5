/** 64 agents at work while 200 MB of transcripts are read, against the same agents alone. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Status } from '../../schema/process.ts'
import { routeTable } from '../../schema/route-table.ts'
import {
  type Agents,
  lateShare,
  longest,
  makeBacklog,
  makeProjects,
  startAgents,
  type Taken,
  TURN_MS,
} from './busy-agents.ts'
import { type Connection, openConnection, requestFor } from './connection.ts'
import { starvedUs } from './cpu.ts'
import { quantile } from './rounds.ts'
import type { Row } from './row.ts'
import type { Workbench } from './workbench.ts'

const AGENTS = 64
/** 200 MB, quickly 50. */
const FILES = { full: 172, quick: 43 }
const WARM_UP_MS = 8_000
const ALONE_MS = { full: 15_000, quick: 10_000 }
const LOOK_MS = 250
const QUIET_LOOKS = 4
const LITTLE_BYTES = 500_000
const LONGEST_MS = 300_000

type Figures = 'late' | 'recall' | 'stall' | 'recallAtOnce' | 'lateAtOnce'

export const busy: Row<Figures> = {
  name: 'busy',
  what: `${AGENTS} agents at work (a prompt, two tools, a question and an end of turn each 2 s) while 200 MB of transcripts are read: late hooks, recall p99, longest wait for health; at once: agents that never pause`,
  yardstick: 'for recall, the same agents alone',
  goals: {
    late: { unit: '%', atMost: 1 },
    recall: { unit: '×', atMost: 5 },
    stall: { unit: 'µs' },
    recallAtOnce: { unit: '×', atMost: 5 },
    lateAtOnce: { unit: '%' },
  },

  run: async (bench) => {
    const paced = await measure(bench, TURN_MS)
    const atOnce = await measure(bench, 0)
    const slower = ({ alone, reading }: Phases) =>
      quantile(reading.taken.recall, 0.99) / quantile(alone.taken.recall, 0.99)
    return {
      figures: {
        late: { value: 100 * lateShare(paced.reading.taken) },
        recall: { value: slower(paced) },
        stall: { value: 1_000 * longest(paced.reading.taken.health) },
        recallAtOnce: { value: slower(atOnce) },
        lateAtOnce: { value: 100 * lateShare(atOnce.reading.taken) },
      },
      details: { ...detailsOf('paced', paced), ...detailsOf('atOnce', atOnce) },
    }
  },
}

type Phases = { alone: Phase; reading: Phase; after: Phase }

/** The same agents alone, while all of it is read, and while rules look through what was read. */
async function measure(bench: Workbench, turnMs: number): Promise<Phases> {
  const home = bench.home()
  const projects = makeProjects(home)
  const files = FILES[bench.pace]
  const backlog = makeBacklog(home, files)
  const daemon = await bench.daemon(home)
  const connection = await openConnection(daemon.socketPath)
  const agents = startAgents(home, projects, { count: AGENTS, turnMs })
  try {
    await delay(WARM_UP_MS)
    agents.take()
    const alone = await during(agents, daemon.pid, () => delay(ALONE_MS[bench.pace]))
    backlog.arrive(files)
    const reading = await during(agents, daemon.pid, () => untilRead(connection))
    const after = await during(agents, daemon.pid, () => delay(ALONE_MS[bench.pace]))
    return { alone, reading, after }
  } finally {
    await agents.stop()
    connection.close()
    await daemon.stop()
  }
}

type Phase = { taken: Taken; forMs: number; starvedMs: number; errors: number }

async function during(agents: Agents, pid: number, wait: () => Promise<unknown>): Promise<Phase> {
  const [begunMs, begunUs] = [performance.now(), starvedUs(pid)]
  await wait()
  const { taken, failed } = agents.take()
  return {
    taken,
    forMs: performance.now() - begunMs,
    starvedMs: (starvedUs(pid) - begunUs) / 1_000,
    errors: failed.length,
  }
}

function detailsOf(pace: string, phases: Phases): Record<string, number> {
  const details = Object.entries(phases).flatMap(([name, { taken, forMs, starvedMs, errors }]) => {
    const { hook, recall, health } = taken
    const of = {
      ...{ Ms: forMs, StarvedMs: starvedMs, Errors: errors },
      ...{ Hooks: hook.length, LatePercent: 100 * lateShare(taken) },
      ...{ HookP50Ms: quantile(hook, 0.5), HookP99Ms: quantile(hook, 0.99) },
      ...{ RecallP50Ms: quantile(recall, 0.5), RecallP99Ms: quantile(recall, 0.99) },
      ...{ HealthP50Ms: quantile(health, 0.5), LongestMs: longest(health) },
    }
    return Object.entries(of).map(([key, value]): [string, number] => [`${pace} ${name} ${key}`, value])
  })
  return Object.fromEntries(details)
}

const statusOf = async (connection: Connection) =>
  JSON.parse(String(await connection.ask(requestFor(routeTable.status)))) as Status

async function untilRead(connection: Connection): Promise<void> {
  await until(connection, ({ ingest }) => ingest.lagBytes > LITTLE_BYTES)
  // Files come into sight one after the other: it may look read in between.
  for (let looks = 0; looks < QUIET_LOOKS; looks++) {
    await delay(LOOK_MS)
    await until(connection, ({ ingest }) => {
      if (ingest.lagBytes >= LITTLE_BYTES) looks = 0
      return ingest.lagBytes < LITTLE_BYTES
    })
  }
}

async function until(connection: Connection, isSo: (status: Status) => boolean): Promise<void> {
  const lastMs = performance.now() + LONGEST_MS
  while (!isSo(await statusOf(connection))) {
    if (performance.now() > lastMs) throw new Error('the transcripts were not worked through in time')
    await delay(LOOK_MS)
  }
}
