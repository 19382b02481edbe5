import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { countFiles } from '../support/known-files.ts'
import { genericRoot, turn } from '../support/transcripts.ts'

const FILES = 100_000
const FOLDERS = 500
const MOST_BYTES = 180_000_000
const READY_MS = 2_000
const LOOK_MS = 250
/** All of them are read long before; if not, the test fails instead of running all night. */
const LONGEST_MS = 1_200_000

function peakBytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

it.runIf(process.platform === 'linux')(
  'a hundred thousand transcripts are read in bounded memory, and keep no start waiting',
  async () => {
    const home = makeHome()
    const root = genericRoot(home)
    for (let folder = 0; folder < FOLDERS; folder++) mkdirSync(join(root, `f${folder}`))
    for (let n = 0; n < FILES; n++) {
      const lines = turn(`number ${n}`).map((record) => `${JSON.stringify(record)}\n`)
      writeFileSync(join(root, `f${n % FOLDERS}`, `${n}.jsonl`), lines.join(''))
    }
    const start = async () => {
      const begunMs = performance.now()
      const daemon = await startDaemon(home)
      expect((await daemon.client.health()).ok).toBe(true)
      expect(performance.now() - begunMs).toBeLessThan(READY_MS)
      return daemon
    }
    const first = await start()
    const begunMs = performance.now()
    while (countFiles(home.places.stateDir) < FILES || (await first.client.status()).ingest.lagBytes > 0) {
      expect(performance.now() - begunMs).toBeLessThan(LONGEST_MS)
      await delay(LOOK_MS)
    }
    expect(peakBytes(first.pid)).toBeLessThan(MOST_BYTES)
    await first.stop()
    const again = await start()
    expect((await again.client.status()).ingest.lagBytes).toBe(0)
    expect(peakBytes(again.pid)).toBeLessThan(MOST_BYTES)
  },
)
