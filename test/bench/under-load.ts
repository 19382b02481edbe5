/** Recall while transcripts come in faster than any session writes them, against recall at rest. */
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { countFiles } from '../support/known-files.ts'
import { openConnection, timeRequests } from './connection.ts'
import { indexApart, makeGround, prepareIndex, stateDirOf } from './indexing.ts'
import { makeMemories, questions } from './made-memories.ts'
import { makeTranscripts } from './made-transcripts.ts'
import { quantile } from './rounds.ts'
import type { Row } from './row.ts'

/** Known before: a project as people have one. */
const KNOWN = { files: 50, messagesPerFile: 100 }
/** 1 GB, quickly 92 MB, all there at once. */
const FILES = { full: 860, quick: 80 }
const MESSAGES_PER_FILE = 500
const MEMORIES = 200
const REQUESTS = 2_000
const PER_BLOCK = 50
const START_MS = 3_000
const LONGEST_MS = 600_000

export const underLoad: Row<'p50' | 'p99'> = {
  name: 'under-load',
  what: `local recall from ${MEMORIES} memories while much is being indexed`,
  yardstick: 'the same at rest',
  goals: { p50: { unit: '×' }, p99: { unit: '×', atMost: 2 } },

  run: async (bench) => {
    const home = bench.home()
    const ground = makeGround(home, KNOWN)
    await indexApart(prepareIndex(stateDirOf(home)), ground)
    const aside = join(home.dir, 'aside')
    const files = FILES[bench.pace]
    const elsewhere = join(home.dir, 'elsewhere')
    mkdirSync(elsewhere)
    const more = makeTranscripts({
      root: aside,
      cwd: elsewhere,
      files,
      messagesPerFile: MESSAGES_PER_FILE,
      from: 50_000_000,
    })
    makeMemories(home, ground.cwd, MEMORIES)
    const { socketPath } = await bench.daemon(home)
    const connection = await openConnection(socketPath)
    const request = questions(ground.cwd)
    await timeRequests(connection, request, REQUESTS)
    await delay(START_MS)
    const idle = await timeRequests(connection, request, REQUESTS)

    for (let n = 0; n < 20; n++) renameSync(join(aside, `project-${n}`), join(ground.root, `more-${n}`))
    const busy: number[] = []
    const begunMs = performance.now()
    const stateDir = stateDirOf(home)
    for (let known = KNOWN.files; known < KNOWN.files + files; known = countFiles(stateDir)) {
      const taken = await timeRequests(connection, request, PER_BLOCK)
      if (known > KNOWN.files) busy.push(...taken)
      if (performance.now() - begunMs > LONGEST_MS) throw new Error('the transcripts were not read in time')
      // As people ask: with pauses. Without, the daemon would be busy with the questions alone.
      await delay(20)
    }
    const indexingMs = performance.now() - begunMs
    connection.close()
    return {
      figures: {
        p50: { value: quantile(busy, 0.5) / quantile(idle, 0.5) },
        p99: { value: quantile(busy, 0.99) / quantile(idle, 0.99) },
      },
      details: {
        transcriptBytes: more.bytes,
        indexingMs,
        requestsWhileIndexing: busy.length,
        idleP99Us: 1000 * quantile(idle, 0.99),
        busyP99Us: 1000 * quantile(busy, 0.99),
      },
    }
  },
}
