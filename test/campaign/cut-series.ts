/** Power cuts at any moment of a busy daemon: what was acknowledged is on the disk, and the rest is whole or not there. */
import { setTimeout as delay } from 'node:timers/promises'
import type { TestContext } from 'vitest'
import { openCutDisk } from './cut-disk.ts'
import type { Dice } from './kill-series.ts'
import { afterCut } from './person.ts'
import { beginWork } from './workload.ts'
import { openWorld } from './world.ts'

const WORK_MS = 120
const READ_MS = 700
const START_MS = 250
/** A daemon goes on without its disk for as long. */
const AFTER_MS = 40
const CUTS_PER_REST = 10
const MOST_PER_DISK = 60

export type CutOutcome = { cuts: number; problems: string[] }

export async function cutSeries(
  context: TestContext,
  { cuts, dice, isOver = () => false }: { cuts: number; dice: Dice; isOver?: () => boolean },
) {
  const all: CutOutcome = { cuts: 0, problems: [] }
  while (all.cuts < cuts && !isOver()) {
    const done = await cutOneDisk(context, dice, Math.min(cuts - all.cuts, MOST_PER_DISK), isOver)
    all.cuts += done.cuts
    all.problems.push(...done.problems)
  }
  return all
}

async function cutOneDisk(
  context: TestContext,
  { kinds, clients }: Dice,
  cuts: number,
  isOver: () => boolean,
): Promise<CutOutcome> {
  const disk = await openCutDisk(context)
  let isCut = false
  /** What was answered since the last cut, to tell why. */
  const said: string[] = []
  const world = openWorld(disk.home, clients, () => isCut)

  const judge = (error: unknown) => {
    const { code, reason, message } = error as { code?: string; reason?: string; message: string }
    const isGone = code === 'UNREACHABLE' && reason !== 'slow'
    const isExpected = isGone || (isCut && (code === 'DEGRADED' || /input\/output error|EIO|EROFS/i.test(message)))
    if (isCut) said.push(`${code} ${message}`)
    if (!isExpected) world.problems.push(`answered: ${code} ${message}`)
    return isExpected ? 'end' : 'go on'
  }
  const cutOne = async () => {
    isCut = false
    said.length = 0
    const power = disk.arm()
    const daemon = world.launch()
    const isAtStart = kinds() < 0.25
    if (isAtStart) await Promise.race([delay(kinds() * START_MS), daemon.exited])
    else if (await daemon.ready) {
      await world.settle('ask')
      const work = beginWork(world.ground, world.connectAs, judge)
      await work.begun
      await delay(kinds() * (kinds() < 0.3 ? READ_MS : WORK_MS))
      isCut = true
      await power.cut()
      await delay(kinds() * AFTER_MS)
      await world.end(daemon, 'SIGKILL')
      await work.stop()
      return
    } else world.problems.push('it did not start')
    isCut = true
    await power.cut()
    await delay(kinds() * AFTER_MS)
    await world.end(daemon, 'SIGKILL')
  }
  const rest = async (work?: () => Promise<void>) => {
    isCut = false
    const daemon = world.launch()
    try {
      if (!(await daemon.ready)) throw new Error('it did not start')
      await world.register()
      await world.settle('ask')
      await world.drain()
      await work?.()
    } catch (error) {
      world.problems.push(`at rest: ${(error as Error).stack}`)
    }
    await world.end(daemon, 'SIGTERM')
  }

  await rest(async () => {
    const work = beginWork(world.ground, world.connectAs, judge)
    await work.begun
    await work.stop()
  })
  await disk.mountAgain()
  let done = 0
  for (; done < cuts && !isOver() && world.problems.length === 0; done++) {
    await cutOne()
    await disk.mountAgain()
    world.problems.push(...afterCut(world.ground))
    if ((done + 1) % CUTS_PER_REST === 0) await rest()
    for (const problem of world.problems) console.info(`cut ${done}: ${problem}`)
    if (world.problems.length > 0) console.info(said.join('\n'))
  }
  if (world.problems.length === 0) await rest(() => world.undoAll(3))
  await disk.close()
  return { cuts: done, problems: world.problems }
}
