/** Kill -9 at moments of all kinds: while it starts, while it works, while it reads, at a file call. After each, nothing is lost. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestContext } from 'vitest'
import { CALLS, faultsIn } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { beginWork, editFile, isRefusal, type Random } from './workload.ts'
import { type Daemon, openWorld, type World } from './world.ts'

export const KINDS = ['start', 'work', 'read', 'call'] as const
export type Kind = (typeof KINDS)[number]
/** Of a hundred. A kill at a start costs the least, one while transcripts are read the most. */
const SHARES: Record<Kind, number> = { start: 35, work: 40, read: 10, call: 15 }

const STARTS_IN_MS = 250
const WORK_MS = 60
const READ_MS = 500
const CALL_MS = 250
const KILLS_PER_DRAIN = 25

export type Series = { kills: number; random: Random; perHome?: number; until?: () => boolean }
export type Outcome = { kills: Record<Kind, number>; problems: string[] }

export async function killSeries(context: TestContext, { kills, random, perHome = 250, until = () => false }: Series): Promise<Outcome> {
  const all: Outcome = { kills: { start: 0, work: 0, read: 0, call: 0 }, problems: [] }
  let left = kills
  while (left > 0 && !until()) {
    const some = Math.min(left, perHome)
    const { kills: done, problems } = await killInOneHome(context, random, some, until)
    for (const kind of KINDS) all.kills[kind] += done[kind]
    all.problems.push(...problems)
    left -= some
  }
  return all
}

export async function killInOneHome(context: TestContext, random: Random, kills: number, until: () => boolean) {
  const home = makeHome()
  const faults = faultsIn(context, home)
  const world = openWorld(home, random)
  const counts: Outcome['kills'] = { start: 0, work: 0, read: 0, call: 0 }
  let readyMs = STARTS_IN_MS
  let isRegistered = false

  const ready = async (daemon: Daemon): Promise<boolean> => {
    const sinceMs = performance.now()
    const isReady = await daemon.ready
    if (isReady) readyMs = 0.8 * readyMs + 0.2 * (performance.now() - sinceMs)
    return isReady
  }
  const end = async (daemon: Daemon) => {
    daemon.child.kill('SIGKILL')
    await daemon.exited
    world.disconnect()
  }
  const look = async () => {
    if (!isRegistered) await world.register()
    isRegistered = true
    await world.settle()
  }
  const judge = (daemon: Daemon) => (error: unknown) => {
    const { code, reason, message } = error as { code?: string; reason?: string; message: string }
    if (code === 'UNREACHABLE' && reason !== 'slow') return 'end'
    if (!isRefusal(error) || code === undefined || ['INTERNAL', 'DEGRADED', 'BAD_REQUEST'].includes(code))
      world.problems.push(`answered: ${code} ${message}${daemon.hasEnded() ? ' (after its end)' : ''}`)
    return 'go on'
  }

  const killOne = async (kind: Kind): Promise<Kind> => {
    if (kind === 'start') {
      const daemon = world.launch()
      await Promise.race([delay(random() * readyMs * 1.1), daemon.exited])
      await end(daemon)
      return kind
    }
    const fault = kind === 'call' ? anyCall(random) : undefined
    const daemon = world.launch(fault ? faults.home.env : home.env)
    // Some of them at a call of the start.
    const isEarly = fault !== undefined && random() < 0.3
    const armed = isEarly ? faults.fail(fault) : undefined
    if (!(await ready(daemon))) {
      armed?.heal()
      world.disconnect()
      return kind
    }
    armed?.heal()
    await look()
    const rule = fault && faults.fail(fault)
    const work = beginWork(world.ground, world.connectAs, judge(daemon))
    await Promise.race([work.begun, daemon.exited])
    await Promise.race([delay(windowOf(kind, random)), daemon.exited])
    const isHit = daemon.hasEnded()
    await end(daemon)
    rule?.heal()
    await work.stop()
    return kind === 'call' && !isHit ? 'work' : kind
  }

  const drain = async () => {
    const daemon = world.launch()
    if (await ready(daemon)) {
      await look()
      await world.drain()
      await end(daemon)
    } else world.problems.push('it did not start')
  }

  let done = 0
  for (; done < kills && !until(); done++) {
    const before = world.problems.length
    const kind = await killOne(anyKind(random))
    counts[kind]++
    if (random() < 0.15) editWhileDown(world)
    if ((done + 1) % KILLS_PER_DRAIN === 0) await drain()
    for (const problem of world.problems.slice(before)) console.info(`kill ${done} (${kind}) in ${home.dir}: ${problem}`)
  }
  const daemon = world.launch()
  if (await ready(daemon)) {
    await look()
    await world.drain()
    await world.undoAll(3)
    daemon.child.kill('SIGTERM')
    await daemon.exited
    world.disconnect()
    world.readLog()
  } else world.problems.push('it did not start')
  console.info(JSON.stringify(world.counts()))
  if (world.problems.length === 0) rmSync(home.dir, { recursive: true, force: true })
  return { kills: counts, problems: world.problems }
}

function anyKind(random: Random): Kind {
  let left = random() * 100
  for (const kind of KINDS) {
    left -= SHARES[kind]
    if (left < 0) return kind
  }
  return 'work'
}

function windowOf(kind: Kind, random: Random): number {
  if (kind === 'call') return CALL_MS
  return random() * (kind === 'read' ? READ_MS : WORK_MS)
}

const PLACES = [{ within: '/memory/' }, { within: '/history.db' }, { within: '/index.db' }, { within: '/md-', except: '/logs/' }] as const
const CHANGES = CALLS.filter((call) => !['read', 'open-read', 'stat', 'list', 'change'].includes(call))
const MOST_CALLS = 60

/** Any of the calls that change something in one of the places, near or far from now. */
function anyCall(random: Random) {
  const place = PLACES[Math.floor(random() * PLACES.length)] ?? PLACES[0]
  const isOne = random() < 0.5
  const calls = isOne ? (CHANGES[Math.floor(random() * CHANGES.length)] ?? 'write') : CHANGES
  return { calls, ...place, first: 1 + Math.floor(MOST_CALLS ** random()), error: 'kill' as const }
}

/** A person edits a memory of the daemon's, or the index, before the next start. */
function editWhileDown({ ground: { random, projects, next } }: World): void {
  const project = projects[random() < 0.5 ? 0 : 1]
  if (!project) return
  const { dir, ledger, notes } = project
  const files = [...ledger.files()].filter(([file, { now, open }]) => /^(?:user|agent)_/.test(file) && now !== null && !open)
  const [file] = files[Math.floor(random() * files.length)] ?? []
  if (file !== undefined) {
    const text = topic(`Edited by a person as number ${next()} while no daemon ran.`, 'By a person')
    ledger.edit(file, text)
    editFile(join(dir, file), text)
  }
}
