/** Kill -9 at moments of all kinds: while it starts, while it works, while it reads, at a file call. After each, nothing is lost. */
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestContext } from 'vitest'
import { CALLS, faultsIn } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { editWhileDown } from './person.ts'
import { beginWork, isRefusal, type Random } from './workload.ts'
import { type Daemon, openWorld } from './world.ts'

export const KINDS = ['start', 'work', 'read', 'call'] as const
export type Kind = (typeof KINDS)[number]
export type Kills = Record<Kind, number>
/** Of a hundred. A kill at a start costs the least, one while transcripts are read the most. */
const SHARES: Kills = { start: 42, work: 34, read: 6, call: 18 }

/** How long a start takes, at first; then as it was found. */
const START_MS = 250
/** After the first thing that was done. */
const WINDOWS_MS: Kills = { start: 0, work: 60, read: 500, call: 400 }
const KILLS_PER_DRAIN = 40
/** How often the daemon is asked what it has, and not only its journal read. */
const ASKED = 0.2

/** `kinds`: when each is killed, and how far into that; `clients`: what is done meanwhile. */
export type Dice = { kinds: Random; clients: Random }
/** `homes`: at once, so that one works while another waits for its disk. */
export type Series = { kills: number; dice: Dice; homes?: number; isOver?: () => boolean }
export type Outcome = { kills: Kills; problems: string[] }

const MOST_PER_HOME = 250

export async function killSeries(context: TestContext, { kills, dice, homes = 1, isOver = () => false }: Series) {
  const all: Outcome = { kills: { start: 0, work: 0, read: 0, call: 0 }, problems: [] }
  let left = kills
  const inTurn = async () => {
    while (left > 0 && !isOver()) {
      const some = Math.min(left, MOST_PER_HOME, Math.ceil(kills / homes))
      left -= some
      const { kills: done, problems } = await killInOneHome(context, dice, some, isOver)
      for (const kind of KINDS) all.kills[kind] += done[kind]
      all.problems.push(...problems)
    }
  }
  await Promise.all(Array.from({ length: homes }, inTurn))
  return all
}

async function killInOneHome(
  context: TestContext,
  { kinds, clients }: Dice,
  kills: number,
  isOver: () => boolean,
): Promise<Outcome> {
  const home = makeHome()
  const faults = faultsIn(context, home)
  const world = openWorld(home, clients)
  const counts: Kills = { start: 0, work: 0, read: 0, call: 0 }
  let startMs = START_MS

  const ready = async (daemon: Daemon): Promise<boolean> => {
    const sinceMs = performance.now()
    const isReady = await daemon.ready
    if (isReady) startMs = 0.8 * startMs + 0.2 * (performance.now() - sinceMs)
    return isReady
  }
  const judge = (error: unknown) => {
    const { code, reason, message } = error as { code?: string; reason?: string; message: string }
    if (code === 'UNREACHABLE' && reason !== 'slow') return 'end'
    if (!isRefusal(error) || code === undefined || ['INTERNAL', 'DEGRADED', 'BAD_REQUEST'].includes(code))
      world.problems.push(`answered: ${code} ${message}`)
    return 'go on'
  }

  const killOne = async (kind: Kind): Promise<Kind> => {
    if (kind === 'start') {
      const daemon = world.launch()
      await Promise.race([delay(kinds() * startMs * 1.1), daemon.exited])
      await world.end(daemon, 'SIGKILL')
      return kind
    }
    const fault = kind === 'call' ? anyCall(kinds) : undefined
    const daemon = world.launch(fault ? faults.home.env : home.env)
    // Some of them at a call of the start.
    const early = fault && kinds() < 0.3 ? faults.fail(fault) : undefined
    const isReady = await ready(daemon)
    early?.heal()
    if (!isReady) {
      await world.end(daemon, 'SIGKILL')
      return kind
    }
    await world.settle(kinds() < ASKED ? 'ask' : 'read')
    const late = fault && faults.fail(fault)
    const work = beginWork(world.ground, world.connectAs, judge)
    await Promise.race([work.begun, daemon.exited])
    await Promise.race([delay(WINDOWS_MS[kind] * (late ? 1 : kinds())), daemon.exited])
    const isHit = daemon.hasEnded()
    await world.end(daemon, 'SIGKILL')
    late?.heal()
    await work.stop()
    return kind === 'call' && !isHit ? 'work' : kind
  }

  /** Without a disturbance. The first ends in order: Node keeps compiled code only then, and those that follow start in half the time. */
  const rest = async (work: (() => Promise<void>) | undefined, signal: 'SIGTERM' | 'SIGKILL') => {
    const daemon = world.launch()
    try {
      if (!(await ready(daemon))) throw new Error('it did not start')
      await world.register()
      await world.settle('ask')
      await world.drain()
      await work?.()
    } catch (error) {
      world.problems.push(`at rest: ${(error as Error).stack}`)
    }
    await world.end(daemon, signal)
  }

  await rest(async () => {
    const work = beginWork(world.ground, world.connectAs, judge)
    await work.begun
    await work.stop()
  }, 'SIGTERM')
  // What follows the first problem of a home follows from it.
  for (let done = 0; done < kills && !isOver() && world.problems.length === 0; done++) {
    const asked = anyKind(kinds)
    const kind = await killOne(asked).catch((error: Error) => {
      world.problems.push(`broken off: ${error.stack}`)
      return asked
    })
    counts[kind]++
    if (kinds() < 0.15) editWhileDown(world.ground)
    if ((done + 1) % KILLS_PER_DRAIN === 0) await rest(undefined, 'SIGKILL')
    for (const problem of world.problems) console.info(`kill ${done} (${kind}): ${problem}`)
  }
  if (world.problems.length === 0) await rest(() => world.undoAll(3), 'SIGTERM')
  rmSync(home.dir, { recursive: true, force: true })
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

/** `/md-`: all of a home. */
const PLACES = [
  { within: '/memory/' },
  { within: '/history.db' },
  { within: '/index.db' },
  { within: '/md-', except: '/logs/' },
] as const
const CHANGES = ['open-write', 'write', 'sync', 'rename', 'link', 'unlink'] as const
const ALL = CALLS.filter((call) => !['read', 'open-read', 'stat', 'list', 'change'].includes(call))
const MOST_CALLS = 30

/** Any of the calls that change something in one of the places, near or far from now. */
function anyCall(random: Random) {
  const place = PLACES[Math.floor(random() * PLACES.length)] ?? PLACES[0]
  const one = CHANGES[Math.floor(random() * CHANGES.length)] ?? 'write'
  const calls = random() < 0.4 ? one : ALL
  return { calls, ...place, first: 1 + Math.floor(MOST_CALLS ** random()), error: 'kill' as const }
}
