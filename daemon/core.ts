/** What every service gets first: clock, log, settings, databases, events, health and paths. */
import { join } from 'node:path'
import type { Environment, Places } from '../schema/rendezvous.ts'
import { readThrough, storeLayout } from './db/database.ts'
import { openDatabases } from './db/databases.ts'
import type { Clock } from './platform/clock.ts'
import { createDisk } from './platform/disk.ts'
import { createEvents } from './platform/events.ts'
import { message, removeLeftovers } from './platform/files.ts'
import { createHealth } from './platform/health.ts'
import { createLifecycle } from './platform/lifecycle.ts'
import { createLog, type LogTarget } from './platform/log.ts'
import { createGivingWay } from './platform/queue.ts'
import type { LiveSettings } from './settings/live-settings.ts'

export type CoreOptions = {
  places: Places
  settings: LiveSettings
  env: Environment
  clock: Clock
  version: string
  lastStop: 'clean' | 'unclean'
  terminal: LogTarget['terminal']
}

/** What can wait begins so long after the start: the program that starts the daemon asks it for memories right away. */
export const AFTER_START_MS = 300

export async function openCore({ places, settings, env, clock, version, lastStop, terminal }: CoreOptions) {
  const { stateDir } = places
  const layout = storeLayout(stateDir)
  const lifecycle = createLifecycle(clock)
  const events = createEvents(clock)
  const health = createHealth(clock, events)
  const disk = lifecycle.add('disk', createDisk(stateDir, clock, health))
  const log = createLog(settings.current().log, { file: places.logFile, terminal, clock, onTrouble: disk.failed })
  lifecycle.add('log', log.close)
  health.onChange((change) => {
    if ('raised' in change) log.warn({ condition: change.raised.code }, change.raised.message)
    else log.info({ condition: change.cleared }, 'condition cleared')
  })
  const repaired = (what: unknown) => {
    health.failed('store', message(what))
    log.warn(message(what))
  }
  const logged = (what: string) => (error: unknown) => {
    if (!disk.blames(error)) log.error({ err: error }, what)
  }
  clock.onFailure(logged('what a timer began failed; it is tried again'))
  const stop = (drainMs: number) =>
    lifecycle.stop(drainMs, ({ part, error }) => log.error({ part, err: error }, 'did not stop in order'))
  /** Stops what has begun. Returns the error; of a database that the disk does not give, it throws one that names the file. */
  const couldNotStart = async (error: unknown): Promise<unknown> => {
    log.error({ err: error }, 'memoryd could not start')
    await stop(0)
    for (const file of [layout.history, layout.index]) readThrough(file)
    return error
  }
  const core = {
    ...{ places, stateDir, layout, env, version, lastStop },
    ...{ clock, log, settings, events, health, disk, lifecycle },
    givingWay: createGivingWay(clock),
    repaired,
    /** Handles errors of background work: they are logged, unless the disk, which has its own condition, is the cause. */
    logged,
    ...{ stop, couldNotStart },
  }
  try {
    removeLeftovers([stateDir, layout.backups, layout.corrupt])
    // No other process dreams for this state folder.
    removeLeftovers([join(stateDir, 'dreams')], /\.(tmp|lock(-journal)?)$/)
    const db = openDatabases(stateDir, clock.now())
    lifecycle.add('databases', db.close)
    db.repairs.forEach(repaired)
    return { ...core, db }
  } catch (error) {
    throw await couldNotStart(error)
  }
}

export type Core = Awaited<ReturnType<typeof openCore>>
