/** 64 agents at work while 200 MB of transcripts are read, against the same agents alone. */
import { mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Status } from '../../schema/process.ts'
import { routeTable } from '../../schema/route-table.ts'
import { type Agents, lateShare, longest, makeProjects, startAgents, type Taken } from './busy-agents.ts'
import { type Connection, openConnection, requestFor } from './connection.ts'
import { makeTranscripts } from './made-transcripts.ts'
import { quantile } from './rounds.ts'
import type { Row } from './row.ts'

const AGENTS = 64
/** 200 MB, quickly 50. */
const FILES = { full: 172, quick: 43 }
const MESSAGES_PER_FILE = 500
/** Of made-up messages, which are a second apart, the time of the first. */
const FIRST_MS = 1_790_000_000_000
const DAYS_AGO_MS = 3 * 86_400_000
const WARM_UP_MS = 8_000
const ALONE_MS = { full: 15_000, quick: 10_000 }
const LOOK_MS = 250
const LITTLE_BYTES = 500_000
const LONGEST_MS = 300_000

type Figures = 'late' | 'recall' | 'stall'

export const busy: Row<Figures> = {
  name: 'busy',
  what: `${AGENTS} agents at work (a prompt, two tools and an end of turn each 2 s), while 200 MB of transcripts are read: late hooks, p99 of recall, longest wait for the main thread`,
  yardstick: 'for recall, the same agents alone',
  goals: { late: { unit: '%', atMost: 1 }, recall: { unit: '×', atMost: 5 }, stall: { unit: 'µs' } },

  run: async (bench) => {
    const home = bench.home()
    const projects = makeProjects(home)
    const [aside, root] = [join(home.dir, 'aside'), join(home.dir, '.claude/projects')]
    const elsewhere = join(home.dir, 'elsewhere')
    mkdirSync(elsewhere)
    const files = FILES[bench.pace]
    const from = Math.round((Date.now() - FIRST_MS - DAYS_AGO_MS) / 1_000)
    const backlog = { root: aside, cwd: elsewhere, files, messagesPerFile: MESSAGES_PER_FILE, from }
    const { bytes } = makeTranscripts(backlog)
    const { socketPath, pid } = await bench.daemon(home)
    const connection = await openConnection(socketPath)
    const agents = startAgents(home, projects, AGENTS)
    try {
      await delay(WARM_UP_MS)
      agents.take()
      const alone = await during(agents, pid, () => delay(ALONE_MS[bench.pace]))
      for (let n = 0; n < 20; n++) renameSync(join(aside, `project-${n}`), join(root, `more-${n}`))
      const reading = await during(agents, pid, () => untilRead(connection))
      const after = await during(agents, pid, () => delay(ALONE_MS[bench.pace]))
      return {
        figures: {
          late: { value: 100 * lateShare(reading.taken) },
          recall: { value: quantile(reading.taken.recall, 0.99) / quantile(alone.taken.recall, 0.99) },
          stall: { value: 1_000 * longest(reading.taken.health) },
        },
        details: {
          backlogBytes: bytes,
          ...detailsOf('alone', alone),
          ...detailsOf('reading', reading),
          ...detailsOf('after', after),
        },
      }
    } finally {
      await agents.stop()
      connection.close()
    }
  },
}

type Phase = { taken: Taken; forMs: number; starvedMs: number; errors: number }

async function during(agents: Agents, pid: number, wait: () => Promise<unknown>): Promise<Phase> {
  const [begunMs, starvedMs] = [performance.now(), waitedForCpuMs(pid)]
  await wait()
  const { taken, failed } = agents.take()
  return {
    taken,
    forMs: performance.now() - begunMs,
    starvedMs: waitedForCpuMs(pid) - starvedMs,
    errors: failed.length,
  }
}

/** For how long the main thread could have run, and others had the processor. */
function waitedForCpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
}

function detailsOf(name: string, { taken, forMs, starvedMs, errors }: Phase): Record<string, number> {
  const { hook, recall, health } = taken
  return {
    [`${name}Ms`]: forMs,
    [`${name}StarvedMs`]: starvedMs,
    [`${name}Errors`]: errors,
    [`${name}Hooks`]: hook.length,
    [`${name}LatePercent`]: 100 * lateShare(taken),
    [`${name}HookP50Ms`]: quantile(hook, 0.5),
    [`${name}HookP99Ms`]: quantile(hook, 0.99),
    [`${name}RecallP50Ms`]: quantile(recall, 0.5),
    [`${name}RecallP99Ms`]: quantile(recall, 0.99),
    [`${name}HealthP50Ms`]: quantile(health, 0.5),
    [`${name}LongestMs`]: longest(health),
  }
}

const statusOf = async (connection: Connection) =>
  JSON.parse(String(await connection.ask(requestFor(routeTable.status)))) as Status

async function untilRead(connection: Connection): Promise<void> {
  await until(connection, ({ ingest }) => ingest.lagBytes > LITTLE_BYTES)
  await until(connection, ({ ingest }) => ingest.lagBytes < LITTLE_BYTES)
}

async function until(connection: Connection, isSo: (status: Status) => boolean): Promise<void> {
  const lastMs = performance.now() + LONGEST_MS
  while (!isSo(await statusOf(connection))) {
    if (performance.now() > lastMs) throw new Error('the transcripts were not worked through in time')
    await delay(LOOK_MS)
  }
}
