/** Ten thousand transcripts: what the daemon holds while it indexes them and after that, and what knowing them costs. */
import { utimesSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Status } from '../../schema/process.ts'
import { routeTable } from '../../schema/route-table.ts'
import { countFiles } from '../support/known-files.ts'
import { type Connection, openConnection, requestFor } from './connection.ts'
import { runNode } from './daemon.ts'
import { makeGround, stateDirOf } from './indexing.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'
import { usageOf } from './usage.ts'

const FILES = { full: 10_000, quick: 1_000 }
const MESSAGES_PER_FILE = 8
const LOOK_MS = 50
/** Until the thread has ended, V8 has tidied up, and the sweep has looked once more at what was too fresh the first time. */
const SETTLE_MS = 80_000
/** One sweep is in it. */
const WATCH_MS = 60_000
/** Written lately; all others are days old, as they are where ten thousand came together. */
const LATELY = 100
const DAYS_AGO_S = 5 * 86_400
const START_ROUNDS = { full: 15, quick: 5 }
const LONGEST_MS = 600_000
const MB = 1_000_000

export const many: Row<'indexing' | 'memory' | 'cpu' | 'start'> = {
  name: 'many',
  what: '10,000 transcripts (quickly 1,000): memory while indexing, memory and CPU of a minute after it, start with all known',
  yardstick: 'node -e 0, for the start',
  goals: {
    indexing: { unit: 'MB', atMost: 180 },
    memory: { unit: 'MB', atMost: 125 },
    cpu: { unit: '%', atMost: 0.1 },
    start: { unit: '×', atMost: 8 },
  },

  run: async (bench) => {
    const home = bench.home()
    const files = FILES[bench.pace]
    const ground = makeGround(home, { files, messagesPerFile: MESSAGES_PER_FILE })
    const agoS = Date.now() / 1_000 - DAYS_AGO_S
    for (const path of ground.paths.slice(LATELY)) utimesSync(path, agoS, agoS)
    const daemon = await bench.daemon(home)
    const connection = await openConnection(daemon.socketPath)
    const begunMs = performance.now()
    let mostBytes = 0
    while (countFiles(stateDirOf(home)) < files || (await lag(connection)) > 0) {
      mostBytes = Math.max(mostBytes, usageOf(daemon.pid).rssBytes)
      if (performance.now() - begunMs > LONGEST_MS) throw new Error('the transcripts were not read in time')
      await delay(LOOK_MS)
    }
    const indexingMs = performance.now() - begunMs
    connection.close()
    await delay(SETTLE_MS)
    const before = usageOf(daemon.pid)
    const watchedFromMs = performance.now()
    await delay(WATCH_MS)
    const after = usageOf(daemon.pid)
    const watchedMs = performance.now() - watchedFromMs
    await daemon.stop()

    const taken = await inRounds(START_ROUNDS[bench.pace], {
      node: () => runNode(home),
      known: async () => {
        const again = await bench.daemon(home)
        await again.stop()
        return [again.startMs]
      },
    })
    return {
      figures: {
        indexing: { value: mostBytes / MB },
        memory: { value: after.rssBytes / MB },
        cpu: { value: (100 * (after.cpuMs - before.cpuMs)) / watchedMs },
        start: ratio(taken.known, taken.node, 0.5),
      },
      details: {
        files,
        transcriptBytes: ground.bytes,
        indexingMs,
        idleCpuMs: after.cpuMs - before.cpuMs,
        startMs: quantile(taken.known.flat(), 0.5),
        nodeMs: quantile(taken.node.flat(), 0.5),
      },
    }
  },
}

async function lag(connection: Connection): Promise<number> {
  return (JSON.parse((await connection.ask(requestFor(routeTable.status))).toString()) as Status).ingest.lagBytes
}
