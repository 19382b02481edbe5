/** What every part of the daemon stands on: the log, conditions and events it reports to, and the disk it may blame. */
import type { Places } from '../schema/rendezvous.ts'
import { createStatusBoard, type StatusBoard } from './http/board.ts'
import type { Clock } from './platform/clock.ts'
import { type Conditions, createConditions } from './platform/conditions.ts'
import { createDisk, type Disk } from './platform/disk.ts'
import { createEvents, type Events } from './platform/events.ts'
import { message } from './platform/files.ts'
import { createLog, type Log, type LogTarget } from './platform/log.ts'
import type { Parts } from './platform/parts.ts'
import type { LiveSettings } from './settings/live.ts'

type Deps = {
  places: Places
  settings: LiveSettings
  clock: Clock
  version: string
  terminal: LogTarget['terminal']
  parts: Parts
}

export type Ground = {
  events: Events
  conditions: Conditions
  board: StatusBoard
  disk: Disk
  log: Log
  /** What is to be done with an error that nobody waits for: it is logged, unless the disk is to blame. */
  logged(what: string): (error: unknown) => void
  /** Something was found broken and has been put right. */
  repaired(what: unknown): void
  /** Called when the disk can be written again. */
  whenDiskRecovers(act: () => void): void
}

export function createGround({ places, settings, clock, version, terminal, parts }: Deps): Ground {
  const events = createEvents(clock)
  const conditions = createConditions({
    clock,
    onChange: (news) => {
      if ('raised' in news) log.warn({ condition: news.raised.code }, news.raised.message)
      else log.info({ condition: news.cleared }, 'is over')
      board.announce('condition')
    },
  })
  const board = createStatusBoard({ clock, conditions, events, places, version })
  let onRecovered = () => {}
  const disk = createDisk({ stateDir: places.stateDir, clock, conditions, onRecovered: () => onRecovered() })
  parts.add('disk', disk.stop)
  const log = createLog(settings.current().log, { file: places.logFile, terminal, clock, onTrouble: disk.failed })
  parts.add('log', log.close)
  return {
    events,
    conditions,
    board,
    disk,
    log,
    logged: (what) => (error) => {
      if (!disk.blames(error)) log.error({ err: error }, what)
    },
    repaired: (what) => {
      conditions.failed('store', message(what))
      log.warn(message(what))
    },
    whenDiskRecovers: (act) => {
      onRecovered = act
    },
  }
}
