/**
 * The daemon's reading thread, from bytes to rows, words and terms, credentials taken out; and how large the index is after
 * that. The yardstick is a script that does the least one can do for the same texts, in a thread of its own too.
 */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { BareDone, BareOrder } from './bare-reading.ts'
import { indexApart, makeGround, prepareIndex, sizeOf } from './indexing.ts'
import { inRounds, quantile } from './rounds.ts'
import type { Figure, Row } from './row.ts'

/** Made-up transcripts of 46 MB, quickly of 12 MB. */
const FILES = { full: 40, quick: 10 }
const MESSAGES_PER_FILE = 500
const ROUNDS = { full: 7, quick: 3 }

export const reading: Row<'speed' | 'cpu' | 'size'> = {
  name: 'reading',
  what: 'reading transcripts (tail, parse, redact, store, full-text); index.db over the bytes of text in it',
  yardstick: 'read, JSON.parse, FTS5 insert of the same texts',
  goals: { speed: { unit: '×', atLeast: 0.6 }, cpu: { unit: '×' }, size: { unit: '×', atMost: 1.5 } },

  run: async (bench) => {
    const home = bench.home()
    const ground = makeGround(home, { files: FILES[bench.pace], messagesPerFile: MESSAGES_PER_FILE })
    let count = 0
    let indexFile = ''
    let bare: BareDone | undefined
    const cpuMs = { ours: [] as number[], bare: [] as number[] }
    const taken = await inRounds(ROUNDS[bench.pace], {
      ours: async () => {
        indexFile = prepareIndex(join(home.dir, `state-${++count}`))
        return timed(cpuMs.ours, () => indexApart(indexFile, ground))
      },
      bare: () =>
        timed(cpuMs.bare, async () => {
          bare = await readBare({ db: join(home.dir, `bare-${++count}.db`), files: ground.paths })
        }),
    })
    if (!bare) throw new Error('nothing was read')
    return {
      figures: {
        speed: faster(taken.bare.flat(), taken.ours.flat()),
        cpu: faster(cpuMs.bare, cpuMs.ours),
        size: { value: sizeOf(indexFile) / bare.textBytes },
      },
      details: {
        transcriptBytes: ground.bytes,
        textBytes: bare.textBytes,
        messages: bare.messages,
        oursMs: quantile(taken.ours.flat(), 0.5),
        bareMs: quantile(taken.bare.flat(), 0.5),
      },
    }
  },
}

/** On a busy machine the time of the processor is the surer figure; it has no waits for the disk. */
async function timed(cpuMs: number[], act: () => Promise<unknown>): Promise<number[]> {
  const before = process.cpuUsage()
  const begunMs = performance.now()
  await act()
  const taken = performance.now() - begunMs
  const { user, system } = process.cpuUsage(before)
  cpuMs.push((user + system) / 1_000)
  return [taken]
}

function faster(bare: number[], ours: number[]): Figure {
  const each = ours.map((ms, n) => (bare[n] ?? 0) / ms)
  return { value: quantile(each, 0.5), middle: [quantile(each, 0.25), quantile(each, 0.75)] }
}

function readBare(order: BareOrder): Promise<BareDone> {
  const worker = new Worker(new URL('./bare-reading.ts', import.meta.url), { workerData: order })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}
