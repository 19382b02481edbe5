/** Reading memories over the socket: the index, and the list of as many as a list holds. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { routeTable } from '../../schema/route-table.ts'
import { againstHello } from './against-hello.ts'
import { requestFor } from './connection.ts'
import type { Home } from './daemon.ts'
import type { Row } from './row.ts'

const MEMORIES = 200

export const index: Row<'p50' | 'p99'> = {
  name: 'index',
  what: `GET /v1/memory/index of ${MEMORIES} memories`,
  yardstick: 'a bare fastify “hello”',
  goals: { p50: { unit: '×', atMost: 1.3 }, p99: { unit: '×' } },
  run: (bench) => {
    const home = bench.home()
    const cwd = project(home)
    return againstHello(bench, home, requestFor(routeTable.memoryIndex, { cwd }))
  },
}

export const list: Row<'p50' | 'p99'> = {
  name: 'list',
  what: `GET /v1/memories, ${MEMORIES} of them`,
  yardstick: 'a bare fastify “hello”',
  goals: { p50: { unit: '×', atMost: 3 }, p99: { unit: '×' } },
  run: (bench) => {
    const home = bench.home()
    const cwd = project(home)
    return againstHello(bench, home, requestFor(routeTable.memories, { cwd }))
  },
}

/** A project with as many memories as a list holds, as a client would have written them. */
function project(home: Home): string {
  const cwd = join(home.dir, 'project')
  const dir = join(home.dir, '.claude/projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), 'memory')
  mkdirSync(cwd)
  mkdirSync(dir, { recursive: true })
  const lines: string[] = []
  for (let n = 0; n < MEMORIES; n++) {
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
