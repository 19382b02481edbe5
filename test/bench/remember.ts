/** One memory kept through the API, in projects of any size: half of them right after each other, half apart. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection, postFor } from './connection.ts'
import { makeMemories, memoryDirOf } from './made-memories.ts'
import { quantile } from './rounds.ts'
import type { Row } from './row.ts'
import type { Workbench } from './workbench.ts'

const TIMES = { full: 60, quick: 30 }
const SETTLED_MS = 5_000
const GOAL = { unit: 'µs', atMost: 6_000 } as const

export const remember: Row<'none' | 'few' | 'many'> = {
  name: 'remember',
  what: 'POST /v1/remember, of something new, at p50 (0, 200 and 10,000 memories)',
  yardstick: undefined,
  goals: { none: GOAL, few: GOAL, many: GOAL },
  run: async (bench) => {
    const [none, few, many] = [await timesOf(bench, 0), await timesOf(bench, 200), await timesOf(bench, 10_000)]
    const median = (times: number[]) => ({ value: 1_000 * quantile(times, 0.5) })
    return {
      figures: { none: median(none), few: median(few), many: median(many) },
      details: { noneP90Ms: quantile(none, 0.9), fewP90Ms: quantile(few, 0.9), manyP90Ms: quantile(many, 0.9) },
    }
  },
}

async function timesOf(bench: Workbench, memories: number): Promise<number[]> {
  const home = bench.home()
  const cwd = join(home.dir, 'project')
  makeMemories(home, cwd, memories)
  writeFileSync(join(memoryDirOf(home, cwd), 'MEMORY.md'), '- [First](first.md) — the first\n')
  const { socketPath } = await bench.daemon(home)
  const connection = await openConnection(socketPath)
  const keep = (n: number) =>
    connection.ask(postFor(routeTable.remember, { cwd, text: `The port of service${n}x is ${5_000 + n}, always.` }))
  await keep(0)
  await delay(SETTLED_MS)
  const times: number[] = []
  for (let n = 1; n <= TIMES[bench.pace]; n++) {
    if (n % 2 === 0) await delay(100)
    const begunMs = performance.now()
    await keep(n)
    times.push(performance.now() - begunMs)
  }
  connection.close()
  return times
}
