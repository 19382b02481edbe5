/** Recall over the socket, without a model: fifty questions in turn, the best five memories read, cut and fenced. */
import { join } from 'node:path'
import { againstHello } from './against-hello.ts'
import { openConnection } from './connection.ts'
import { makeMemories, questions } from './made-memories.ts'
import type { Measured, Row } from './row.ts'
import type { Workbench } from './workbench.ts'

const YARDSTICK = 'a bare fastify “hello”'

export const recall: Row<'p50' | 'p99'> = {
  name: 'recall',
  what: 'POST /v1/recall, local, of 200 memories',
  yardstick: YARDSTICK,
  goals: { p50: { unit: '×', atMost: 3 }, p99: { unit: '×', atMost: 4 } },
  run: (bench) => recallOf(bench, 200),
}

export const manyRecalled: Row<'p50' | 'p99'> = {
  name: 'recall-10000',
  what: 'POST /v1/recall, local, of 10,000 memories',
  yardstick: YARDSTICK,
  goals: { p50: { unit: '×', atMost: 15 }, p99: { unit: '×' } },
  run: (bench) => recallOf(bench, 10_000),
}

async function recallOf(bench: Workbench, memories: number): Promise<Measured<'p50' | 'p99'>> {
  const home = bench.home()
  const cwd = join(home.dir, 'project')
  makeMemories(home, cwd, memories)
  const asked = questions(cwd)
  await checkAnswers(bench, home, asked)
  return againstHello(bench, home, asked)
}

/** A ranking that finds nothing would be quick, too. */
async function checkAnswers(bench: Workbench, home: Parameters<Workbench['daemon']>[0], asked: readonly Buffer[]) {
  const server = await bench.daemon(home)
  const connection = await openConnection(server.socketPath)
  for (const question of asked) {
    const { memories } = JSON.parse(String(await connection.ask(question))) as { memories: unknown[] }
    if (memories.length === 0) throw new Error(`nothing was recalled for ${question.toString().split('\r\n\r\n')[1]}`)
  }
  connection.close()
  await server.stop()
}
