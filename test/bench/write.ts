/**
 * A gated write: checked, journaled, written, index kept. The yardstick is what no program can save that wants files to
 * survive a power cut: write, fsync, rename, fsync of the folder, for each file that changes. A new memory changes two:
 * itself and the index. All on the same disk, in turns.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { PROTOCOL, PROTOCOL_HEADER } from '../../schema/rendezvous.ts'
import { routeTable } from '../../schema/route-table.ts'
import { openConnection } from './connection.ts'
import { cpuUs } from './cpu.ts'
import { shareOneCore } from './one-core.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'

const ROUNDS = { full: 60, quick: 15 }
/** The first ones of a daemon's life. */
const FRESH_ROUNDS = 10
const WRITES_PER_BLOCK = 10
/** Until V8 has compiled the hot paths, as for the rows of single requests. */
const WARM_UP_WRITES = 1_000

export const write: Row<'update' | 'create' | 'fresh'> = {
  name: 'write',
  what: 'PUT /v1/memories/*, of a known memory or a new one, which is a line in the index, too (fresh: of a known one, right after the start)',
  yardstick: 'write, fsync, rename, fsync of the folder, once for a known memory, twice for a new one',
  goals: { update: { unit: '×', atMost: 4 }, create: { unit: '×', atMost: 4 }, fresh: { unit: '×' } },

  run: async (bench) => {
    const home = bench.home()
    const cwd = join(home.dir, 'project')
    const bareDir = join(home.dir, 'bare')
    for (const dir of [cwd, bareDir]) mkdirSync(dir)
    const { socketPath, pid } = await bench.daemon(home)
    const connection = await openConnection(socketPath)
    let count = 0
    const put = (file: string) => connection.ask(requestFor(cwd, file, topic(++count)))
    const update = () => put('feedback_known.md')
    const create = () => put(`feedback_new_${count}.md`)
    const bare = async () => writeBare(bareDir, topic(++count))
    const bareTwice = async () => {
      for (let file = 0; file < 2; file++) writeBare(bareDir, topic(++count))
    }

    await update()
    const cores = shareOneCore([pid])
    const fresh = await inRounds(FRESH_ROUNDS, { update: () => timed(update), bare: () => timed(bare) })
    for (let n = 0; n < WARM_UP_WRITES; n++) for (const act of [update, bare]) await act()
    const used = { update: 0, create: 0 }
    const timedWithCpu = async (kind: 'update' | 'create', act: () => Promise<unknown>) => {
      const beforeUs = cpuUs(pid)
      const block = await timed(act)
      used[kind] += cpuUs(pid) - beforeUs
      return block
    }
    const taken = await inRounds(ROUNDS[bench.pace], {
      update: () => timedWithCpu('update', update),
      create: () => timedWithCpu('create', create),
      bare: () => timed(bare),
      bareTwice: () => timed(bareTwice),
    }).finally(cores.release)
    connection.close()
    const writes = ROUNDS[bench.pace] * WRITES_PER_BLOCK
    return {
      figures: {
        update: ratio(taken.update, taken.bare, 0.5),
        create: ratio(taken.create, taken.bareTwice, 0.5),
        fresh: ratio(fresh.update, fresh.bare, 0.5),
      },
      details: {
        updateP50Us: 1000 * quantile(taken.update.flat(), 0.5),
        createP50Us: 1000 * quantile(taken.create.flat(), 0.5),
        bareP50Us: 1000 * quantile(taken.bare.flat(), 0.5),
        updateCpuUs: used.update / writes,
        createCpuUs: used.create / writes,
      },
    }
  },
}

async function timed(act: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = []
  for (let n = 0; n < WRITES_PER_BLOCK; n++) {
    const begunMs = performance.now()
    await act()
    taken.push(performance.now() - begunMs)
  }
  return taken
}

function topic(n: number): string {
  const body = `Run step ${n} twice.\n\n**Why:** it failed once.\n**How to apply:** before every release.\n`
  return `---\nname: Habits of the build\ndescription: What to mind in a build before it is released\ntype: feedback\n---\n\n${body}`
}

function requestFor(cwd: string, file: string, content: string): Buffer {
  const { method, url } = routeTable.putMemory
  const body = Buffer.from(JSON.stringify({ content }))
  const head = [
    `${method} ${url.replace('*', file)}?${new URLSearchParams({ cwd })} HTTP/1.1`,
    'host: localhost',
    `${PROTOCOL_HEADER}: ${PROTOCOL}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

function writeBare(dir: string, content: string): void {
  const temporary = join(dir, '.temporary')
  const fd = openSync(temporary, 'w')
  writeSync(fd, content)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(temporary, join(dir, 'known.md'))
  const folder = openSync(dir, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
