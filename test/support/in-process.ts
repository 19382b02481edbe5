/**
 * A whole daemon in the test's process, on a real socket and real files: what a flow needs, in a tenth of the time that a process
 * takes to start. Kills, signals and the command line's `start` and `stop` need a process: `daemon.ts`.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { connect, type StrictClient } from '../../client/index.ts'
import { AFTER_START_MS } from '../../daemon/core.ts'
import { startDaemon as start } from '../../daemon/daemon.ts'
import type { Clock } from '../../daemon/platform/clock.ts'
import { ensurePrivateFolder } from '../../daemon/platform/files.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import { type RunningTime, runningTime } from './clock.ts'
import type { Home } from './home.ts'

export type DaemonHere = {
  client: StrictClient
  /** That of the daemon, unless the test brought a clock of its own. */
  time: RunningTime
  /** Resolves with the first log line that holds `text`, from the start on. */
  logged(text: string): Promise<string>
  /** As SIGHUP does. */
  reload(): void
  /** Whether the process goes on after an error that no caller caught. */
  outlives(error: unknown): boolean
  /** As SIGTERM does; the code is that of the process. */
  stop(): Promise<{ code: number }>
}

type Options = { clock?: Clock; lastStop?: 'clean' | 'unclean' }

const DRAIN_MS = 60_000
/** For which a daemon that was started leaves everything else to its first callers. */

/** The end of a connection is read in the turn after the one that closed it; until then a caller would use it again. */
async function callersHaveHeard(): Promise<void> {
  for (let turns = 0; turns < 4; turns++) await turn()
}

export async function startDaemon(home: Home, { clock, lastStop }: Options = {}): Promise<DaemonHere> {
  const time = runningTime()
  const { places, env } = home
  const lines: string[] = []
  const waiting = new Set<(line: string) => void>()
  const write = (text: string) => {
    lines.push(text)
    for (const look of waiting) look(text)
  }
  // As the daemon's own process does first: what it makes is the user's alone.
  const umask = process.umask(0o077)
  const daemon = await inOrder(async () => {
    ensurePrivateFolder(places.stateDir, 'state')
    return start({
      places,
      settings: loadSettings(places.configFile, env, places.home),
      env,
      clock: clock ?? time.clock,
      version: '0.0.0-test',
      lastStop: lastStop ?? 'clean',
      terminal: { write, colour: 'off' },
    })
  })
  time.pass(AFTER_START_MS)
  const client = connect({ socket: places.socketPath, strict: true, deadlineMs: 10_000 })
  let stopped: Promise<{ code: number }> | undefined
  const stop = () => {
    stopped ??= (async () => {
      client.close()
      const outcome = await daemon.stop(DRAIN_MS)
      process.umask(umask)
      await callersHaveHeard()
      return { code: outcome === 'clean' ? 0 : 1 }
    })()
    return stopped
  }
  onTestFinished(async () => void (await stop()))
  return {
    client,
    time,
    logged: (text) =>
      new Promise((resolve) => {
        const look = (line: string) => {
          if (!line.includes(text)) return
          waiting.delete(look)
          resolve(line)
        }
        waiting.add(look)
        lines.forEach(look)
      }),
    reload: daemon.reload,
    outlives: daemon.outlives,
    stop,
  }

  async function inOrder<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      process.umask(umask)
      throw error
    }
  }
}

/** Lets time pass until it is so; in steps, so that what time brings about can happen in between. */
export async function passUntil({ client, time }: DaemonHere, isSo: () => boolean, stepMs = 100): Promise<void> {
  while (!isSo()) {
    time.pass(stepMs)
    time.jump(stepMs)
    await client.health()
  }
}
