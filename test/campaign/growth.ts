/** Laws of growth: what twice as much costs, how long the main thread is held at once meanwhile, and what a write leaves on the disk. */
import { mkdirSync } from 'node:fs'
import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import type { StrictClient } from '../../client/index.ts'
import { connectAs } from '../support/connect-as.ts'
import { type RunningDaemon, startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import type { Stalls } from '../support/stall-program.ts'
import { genericRoot } from '../support/transcripts.ts'
import { type Work, works } from './growth-works.ts'

const stallProgram = fileURLToPath(new URL('../support/stall-program.ts', import.meta.url))

/** Twice as much may cost so much more. */
export const MOST_RATIO = 2.5
export const LONGEST_STALL_MS = 100
/** While transcripts are read. */
export const LONGEST_READING_MS = 50
export const MOST_BYTES_PER_WRITE = 4_096
/** Less CPU than this is mostly noise: no ratio is taken of it. */
const LEAST_MS = 40

export type GrowthGround = {
  home: Home
  cwd: string
  /** Of transcripts in the generic form. */
  root: string
  client: StrictClient
  daemon: RunningDaemon
}

export type Growth = {
  name: string
  sizes: number[]
  cpuMs: number[]
  ratios: number[]
  stallMs: number
  bytesPerWrite?: number
}

async function openGround(): Promise<GrowthGround & { stalls: () => Promise<Stalls> }> {
  const home = makeHome()
  const at = join(home.dir, 'stalls.sock')
  Object.assign(home.env, { NODE_OPTIONS: `--import ${pathToFileURL(stallProgram)}`, MEMORYD_TEST_STALLS: at })
  const root = genericRoot(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const daemon = await startDaemon(home)
  const client = connectAs(home, 'user')
  const stalls = async () => JSON.parse(await text(dial(at))) as Stalls
  return { home, cwd, root, client, daemon, stalls }
}

export async function measureGrowth(work: Work, sizes: readonly number[]): Promise<Growth> {
  const cpuMs: number[] = []
  let stallMs = 0
  let bytesPerWrite = 0
  for (const size of sizes) {
    const { stalls, ...ground } = await openGround()
    const begun = await work.prepare(ground, size)
    await work.warmUp?.(ground)
    await stalls()
    const before = historyBytes(ground.home)
    await begun()
    const writes = work.writes?.(size) ?? 0
    const { longestMs, cpuMs: taken } = await stalls()
    if (writes > 0) bytesPerWrite = Math.max(bytesPerWrite, (historyBytes(ground.home) - before) / writes)
    cpuMs.push(taken)
    stallMs = Math.max(stallMs, longestMs)
    await ground.daemon.stop()
  }
  const ratios = cpuMs.slice(1).map((ms, n) => ms / Math.max(cpuMs[n] as number, LEAST_MS))
  return { name: work.name, sizes: [...sizes], cpuMs, ratios, stallMs, ...(bytesPerWrite > 0 && { bytesPerWrite }) }
}

/** With what still stands in its log. */
function historyBytes({ places }: Home): number {
  const db = new Database(join(places.stateDir, 'history.db'), { readonly: true })
  const [pages, pageBytes] = ['page_count', 'page_size'].map((name) => Number(db.pragma(name, { simple: true })))
  db.close()
  return (pages ?? 0) * (pageBytes ?? 0)
}

/** `slack`: on a busy machine the same work takes more CPU, too; what is quadratic costs four times as much. */
export function brokenLaws({ name, ratios, stallMs, bytesPerWrite = 0 }: Growth, slack = 1): string[] {
  const longest = works.find((work) => work.name === name)?.reads ? LONGEST_READING_MS : LONGEST_STALL_MS
  const most = Math.max(...ratios)
  return [
    ...(most > slack * MOST_RATIO ? [`${name}: twice as much costs ${most.toFixed(1)} times as much`] : []),
    ...(stallMs > slack * longest ? [`${name}: the main thread was held for ${Math.round(stallMs)} ms`] : []),
    ...(bytesPerWrite > MOST_BYTES_PER_WRITE ? [`${name}: ${Math.round(bytesPerWrite)} bytes for a write`] : []),
  ]
}

/** For a person: what each size cost, and how long the thread was held. */
export function summaryOf({ sizes, cpuMs, ratios, stallMs, bytesPerWrite }: Growth): string {
  const rounded = (values: number[], digits = 0) => values.map((value) => value.toFixed(digits)).join(' / ')
  const bytes = bytesPerWrite === undefined ? '' : `, ${bytesPerWrite.toFixed(0)} B per write`
  return `${rounded(sizes)}: ${rounded(cpuMs)} ms, × ${rounded(ratios, 2)}, ${stallMs.toFixed(0)} ms held${bytes}`
}
