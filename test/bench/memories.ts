/** Reading memories over the socket: the index, and the list of as many as a list holds. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { routeTable } from '../../schema/route-table.ts'
import { againstHello } from './against-hello.ts'
import { requestFor } from './connection.ts'
import type { Home } from './daemon.ts'
import type { Measured, Row } from './row.ts'
import type { Workbench } from './workbench.ts'

/** What a project that is used for months has, and as many lines as an index may have (20 KB: most of it is sending). */
const MEMORIES = { usual: 40, most: 200 }

export const index: Row<'p50' | 'p99' | 'full'> = {
  name: 'index',
  what: `GET /v1/memory/index of ${MEMORIES.usual} memories (full: of ${MEMORIES.most}, 20 KB)`,
  yardstick: 'a bare fastify “hello”',
  goals: { p50: { unit: '×', atMost: 1.3 }, p99: { unit: '×' }, full: { unit: '×' } },
  run: async (bench) => {
    const [usual, full] = [await indexOf(bench, MEMORIES.usual), await indexOf(bench, MEMORIES.most)]
    return { figures: { ...usual.figures, full: full.figures.p50 }, details: usual.details }
  },
}

function indexOf(bench: Workbench, memories: number): Promise<Measured<'p50' | 'p99'>> {
  const home = bench.home()
  const cwd = project(home, memories)
  return againstHello(bench, home, requestFor(routeTable.memoryIndex, { cwd }))
}

export const list: Row<'p50' | 'p99'> = {
  name: 'list',
  what: `GET /v1/memories, ${MEMORIES.most} of them`,
  yardstick: 'a bare fastify “hello”',
  goals: { p50: { unit: '×', atMost: 3 }, p99: { unit: '×' } },
  run: (bench) => {
    const home = bench.home()
    const cwd = project(home, MEMORIES.most)
    return againstHello(bench, home, requestFor(routeTable.memories, { cwd }))
  },
}

/** A project with memories as a client would have written them. */
function project(home: Home, memories: number): string {
  const cwd = join(home.dir, 'project')
  const dir = join(home.dir, '.claude/projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), 'memory')
  mkdirSync(cwd)
  mkdirSync(dir, { recursive: true })
  const lines: string[] = []
  for (let n = 0; n < memories; n++) {
    const name = `Habit ${n} of the build`
    const file = `feedback_habit_${n}.md`
    const description = `What to mind in step ${n} of the build before it is released`
    const body = `Run step ${n} twice.\n\n**Why:** it failed once.\n**How to apply:** before every release.\n`
    writeFileSync(
      join(dir, file),
      `---\nname: ${name}\ndescription: ${description}\ntype: feedback\n---\n\n${body.repeat(5)}`,
    )
    lines.push(`- [${name}](${file}) — ${description}`)
  }
  writeFileSync(join(dir, 'MEMORY.md'), `${lines.join('\n')}\n`)
  return cwd
}
