/** The composition root: every part of the daemon, in the order data flows. Stopping runs it backwards. */
import type { Event } from '../schema/event.ts'
import { type Environment, type Places, PROTOCOL } from '../schema/rendezvous.ts'
import type { Status } from '../schema/status.ts'
import type { LiveSettings } from './config/live.ts'
import { startReloading } from './config/reload.ts'
import { startHousekeeping } from './housekeeping/housekeeping.ts'
import { sweepKept } from './housekeeping/sweep.ts'
import { bindServer } from './http/binding.ts'
import { createEventStreams } from './http/event-stream.ts'
import { processRoutes } from './http/routes/process.ts'
import { switchRoutes } from './http/routes/switches.ts'
import { createServer } from './http/server.ts'
import type { Clock } from './platform/clock.ts'
import { createConditions } from './platform/conditions.ts'
import { createDisk } from './platform/disk.ts'
import { createEvents } from './platform/events.ts'
import { message } from './platform/files.ts'
import { createLog, type LogTarget } from './platform/log.ts'
import { createParts, type PartFailure } from './platform/parts.ts'
import { passedSocket } from './platform/socket.ts'
import { dailyBackups } from './store/backup.ts'
import { storeLayout } from './store/layout.ts'
import { createPauses } from './store/pauses.ts'
import { openStore } from './store/store.ts'
import { createSwitches } from './switches/switches.ts'

export type DaemonDeps = {
  places: Places
  settings: LiveSettings
  env: Environment
  clock: Clock
  version: string
  lastStop: 'clean' | 'unclean'
  terminal: LogTarget['terminal']
}

export type Daemon = {
  reload(): void
  /** The last words of a process that is about to die of a bug. */
  logCrash(error: unknown): void
  /** Lets running work finish for up to `drainMs`, then stops every part, last started first. */
  stop(drainMs: number): Promise<PartFailure[]>
}

export async function startDaemon(deps: DaemonDeps): Promise<Daemon> {
  const { places, settings, env, clock, version, lastStop, terminal } = deps
  const { stateDir, configFile, socketPath } = places
  const layout = storeLayout(stateDir)
  const stamp = () => new Date(clock.now()).toISOString()
  const startedAt = stamp()
  const parts = createParts(clock)

  // What everything else reports to.
  const events = createEvents(clock)
  const conditions = createConditions({ clock, onChange: () => announce('condition') })
  const state = () => (conditions.list().length > 0 ? 'degraded' : 'ready')
  const announce = (change: Event['change']) => events.publish({ type: 'status', state: state(), change })
  let onDiskRecovered = () => {}
  const disk = createDisk({ stateDir, clock, conditions, onRecovered: () => onDiskRecovered() })
  parts.add('disk', disk.stop)
  const log = createLog(settings.current().log, { file: places.logFile, terminal, clock, onTrouble: disk.failed })
  parts.add('log', log.close)
  const report = (problem: unknown) => {
    if (problem === undefined) return
    conditions.failed('store', message(problem))
    log.warn(message(problem))
  }

  try {
    // What is kept.
    const store = openStore(stateDir, clock.now())
    parts.add('store', store.close)
    for (const repair of store.repairs) report(repair)
    const switches = createSwitches({ pauses: createPauses(store.history), clock })

    // What is answered.
    const status = (): Status => ({
      // No provider is composed yet: nothing here can call a model.
      mode: 'offline',
      state: state(),
      reasons: conditions.list(),
      version,
      protocol: PROTOCOL,
      pid: process.pid,
      startedAt,
      socket: socketPath,
      stateDir,
      configFile,
      paused: switches.paused(),
      errors: conditions.failures(),
    })
    const announcing =
      <A extends unknown[], R>(change: Event['change'], act: (...given: A) => R) =>
      (...given: A): R => {
        const answer = act(...given)
        announce(change)
        return answer
      }
    const streams = createEventStreams(events.subscribe, () => log.info('dropped an event reader that fell behind'))
    const connected = (): Event => ({ type: 'status', at: stamp(), state: state(), change: 'connected' })
    const server = await createServer({
      handlers: {
        ...processRoutes({ version, status, streams, connected }),
        ...switchRoutes({
          pause: announcing('paused', switches.pause),
          resume: announcing('paused', switches.resume),
        }),
      },
      log,
      isDiskTrouble: disk.blames,
    })
    parts.add('server', (signal) => {
      streams.closeAll()
      return server.close(signal)
    })
    const passed = passedSocket(env, process.pid)
    const binding = await bindServer({ server, path: socketPath, passed, clock, conditions, log })
    parts.add('binding', binding.stop)

    // What happens while nobody asks.
    const housekeeping = startHousekeeping({
      clock,
      conditions,
      log,
      backUp: () => store.backUpDaily(clock.now()),
      sweep: () =>
        sweepKept(
          { stateDir, folders: [layout.corrupt], dailyBackups: () => dailyBackups(layout.backups) },
          settings.current().retention,
          clock.now(),
        ),
      isDiskTrouble: disk.blames,
    })
    parts.add('housekeeping', housekeeping.stop)
    onDiskRecovered = () => void housekeeping.run()
    const checking = lastStop === 'unclean' ? store.checkIndex().then(report, report) : Promise.resolve()
    parts.add('index check', () => checking)
    const reloading = startReloading({
      file: configFile,
      settings,
      conditions,
      log,
      onChange: (changed) => {
        log.configure(changed.log)
        announce('settings')
      },
    })
    parts.add('settings', reloading.stop)

    log.info({ version, socket: socketPath, lastStop }, 'memoryd is ready')
    return {
      reload: reloading.reload,
      logCrash: (error) => log.error({ err: error }, 'memoryd crashed'),
      stop: (drainMs) => {
        log.info({ drainMs }, 'memoryd is stopping')
        return parts.stop(drainMs)
      },
    }
  } catch (error) {
    log.error({ err: error }, 'memoryd could not start')
    await parts.stop(0)
    throw error
  }
}
