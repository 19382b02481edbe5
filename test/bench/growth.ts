/** Whether anything costs more the more is known: one turn, many messages, and a recall, in a project of growing size. */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase, prepareForBulk } from '../../daemon/db/database.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { createIngest } from '../../daemon/transcripts/ingest.ts'
import { createMessageWords } from '../../daemon/transcripts/message-index.ts'
import { createTranscripts } from '../../daemon/transcripts/transcript-table.ts'
import type { Status } from '../../schema/process.ts'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, requestFor, timeRequests } from './connection.ts'
import type { Home } from './daemon.ts'
import { type Ground, indexApart, makeGround, prepareIndex, stateDirOf } from './indexing.ts'
import { makeMemories, questions } from './made-memories.ts'
import { shareOneCore } from './one-core.ts'
import { type Block, inRounds, quantile, ratio } from './rounds.ts'
import type { Figure, Row } from './row.ts'
import type { Workbench } from './workbench.ts'

/** Of messages in one project; quickly without the last. */
const SIZES = { full: [1_000, 10_000, 100_000], quick: [1_000, 10_000] }
const MESSAGES_PER_FILE = 500
const TURNS = 60
const LINES_PER_TURN = 8
const MEMORIES = 200
const RECALL_ROUNDS = { full: 100, quick: 25 }
const RECALLS_PER_BLOCK = 50
const WARM_UP_RECALLS = 3_000
const LONGEST_MS = 300_000
const LOOK_MS = 200

export const growth: Row<'turn' | 'indexing' | 'recall'> = {
  name: 'growth',
  what: `from 1,000 to 100,000 messages (quickly 10,000): a turn of 8 lines that comes in; indexing, per message; local recall of ${MEMORIES} memories`,
  yardstick: 'the same with 1,000 messages',
  goals: { turn: { unit: '×', atMost: 1.3 }, indexing: { unit: '×', atMost: 1.3 }, recall: { unit: '×', atMost: 1.3 } },

  run: async (bench) => {
    const perMessageMs: number[] = []
    const details: Record<string, number> = {}
    const sizes = SIZES[bench.pace]
    const projects: Project[] = []
    const grounds: { home: Home; ground: Ground }[] = []
    for (const size of sizes) {
      const home = bench.home()
      const ground = makeGround(home, { files: size / MESSAGES_PER_FILE, messagesPerFile: MESSAGES_PER_FILE })
      const indexFile = prepareIndex(stateDirOf(home))
      perMessageMs.push((await indexApart(indexFile, ground)) / size)
      projects.push(openProject(indexFile, ground))
      grounds.push({ home, ground })
    }
    const taken = await takeTurns(projects)
    const turnMs = taken.map((each) => quantile(each.slice(TURNS / 4), 0.5))
    for (const [n, size] of sizes.entries()) {
      details[`turnMs${size}`] = turnMs[n] as number
      details[`indexingUsPerMessage${size}`] = 1_000 * (perMessageMs[n] as number)
    }
    const grown = (values: number[]) => Math.max(...values.slice(1)) / (values[0] as number)
    const recall = await recallGrown(bench, grounds)
    return { figures: { turn: { value: grown(turnMs) }, indexing: { value: grown(perMessageMs) }, recall }, details }
  },
}

/** Each project has a daemon of its own, and all are asked in turns. */
async function recallGrown(bench: Workbench, grounds: readonly { home: Home; ground: Ground }[]): Promise<Figure> {
  const contenders: Record<string, Block> = {}
  const pids: number[] = []
  for (const { home, ground } of grounds) {
    makeMemories(home, ground.cwd, MEMORIES)
    const { socketPath, pid } = await bench.daemon(home)
    const connection = await openConnection(socketPath)
    await untilAllIsDone(async () => JSON.parse(String(await connection.ask(requestFor(routeTable.status)))))
    const asked = questions(ground.cwd)
    await timeRequests(connection, asked, WARM_UP_RECALLS)
    pids.push(pid)
    contenders[home.dir] = () => timeRequests(connection, asked, RECALLS_PER_BLOCK)
  }
  const cores = shareOneCore(pids)
  const taken = Object.values(await inRounds(RECALL_ROUNDS[bench.pace], contenders).finally(cores.release))
  const [smallest = [], ...others] = taken
  return { value: Math.max(...others.map((each) => ratio(each, smallest, 0.5).value)) }
}

/** What the transcripts made due is work of another kind. */
async function untilAllIsDone(ask: () => Promise<Status>): Promise<void> {
  const untilMs = performance.now() + LONGEST_MS
  for (;;) {
    const { ingest, jobs } = await ask()
    if (ingest.lagBytes === 0 && jobs.queued + jobs.running === 0) return
    if (performance.now() > untilMs) throw new Error('the daemon was not done in time')
    await delay(LOOK_MS)
  }
}

/** Turn after turn, each in every project, so that a machine that grows busier does so for all of them; in ms. */
async function takeTurns(projects: readonly Project[]): Promise<number[][]> {
  const taken: number[][] = projects.map(() => [])
  for (let turn = 0; turn < TURNS; turn++)
    for (const [n, project] of projects.entries()) taken[n]?.push(await project.turn(turn))
  for (const project of projects) project.close()
  return taken
}

type Project = {
  /** From the bytes of a new transcript of the project to its rows. */
  turn(number: number): Promise<number>
  close(): void
}

function openProject(indexFile: string, { root, paths }: { root: string; paths: string[] }): Project {
  const db = openDatabase(indexFile)
  prepareForBulk(db)
  const words = createMessageWords(db)
  const ingest = createIngest(createClock(), createTranscripts(db, words), { backlogDays: 14, privatePaths: () => [] })
  const lines = readFileSync(paths[0] as string, 'utf8').split('\n')
  const path = join(root, 'project-live', 'live.jsonl')
  mkdirSync(dirname(path))
  return {
    turn: async (number) => {
      const said = lines.slice(number * LINES_PER_TURN, (number + 1) * LINES_PER_TURN)
      appendFileSync(path, said.map((line) => `${line.replaceAll('-m"', `-live"`)}\n`).join(''))
      const begunMs = performance.now()
      ingest.ready([await ingest.read({ harness: 'claude-code', root, path }, { capBytes: 128_000 })])()
      return performance.now() - begunMs
    },
    close: () => void db.close(),
  }
}
