/** The process: environment → lock → settings → daemon → signals. The only place that exits. Runs when loaded. */
import { closeSync, openSync } from 'node:fs'
import { MemoryError } from '../schema/errors.ts'
import { exitCodeFor, exitCodes, explainError } from '../schema/exit-codes.ts'
import type { Holder } from '../schema/holder.ts'
import { findPlaces } from '../schema/rendezvous.ts'
import { loadSettings } from './config/live.ts'
import { startDaemon } from './daemon.ts'
import { type Clock, createClock } from './platform/clock.ts'
import { ensurePrivateFolder } from './platform/files.ts'
import { type ProcessLock, takeProcessLock } from './platform/process-lock.ts'
import { notifyReady } from './platform/readiness.ts'
import { readVersion } from './version.ts'

const DRAIN_MS = 60_000
/** How long a daemon that has just taken the lock may need to write down who it is. */
const HOLDER_WAIT_MS = 2_000
const HOLDER_LOOK_MS = 20

async function main(): Promise<void> {
  process.umask(0o077)
  const env = { ...process.env }
  // What systemd passed is for this process, not for those it starts.
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]

  const clock = createClock()
  const version = readVersion()
  const places = findPlaces(env)
  ensurePrivateFolder(places.stateDir, 'state')
  const lock = await takeLock(clock, places.stateDir, {
    pid: process.pid,
    version,
    socket: places.socketPath,
    startedAt: new Date(clock.now()).toISOString(),
  })
  let reload = () => {}
  const stopping = new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
    process.on('SIGHUP', () => (process.stdin.isTTY && !terminalIsThere() ? resolve() : reload()))
  })
  // A terminal that was closed must not take the daemon down before it has stopped in order.
  process.stdout.on('error', () => {})

  try {
    const settings = loadSettings(places.configFile, env, places.home)
    const colour = process.stdout.isTTY && !env.NO_COLOR ? 'on' : 'off'
    // Under systemd, standard output is the journal.
    const watched = process.stdout.isTTY || env.JOURNAL_STREAM
    const daemon = await startDaemon({
      places,
      settings,
      env,
      clock,
      version,
      lastStop: lock.lastStop,
      terminal: watched ? { write: (text) => process.stdout.write(text), colour } : undefined,
    })
    reload = daemon.reload
    process.on('uncaughtExceptionMonitor', daemon.logCrash)
    await notifyReady(env.NOTIFY_SOCKET).catch(async (error) => {
      await daemon.stop(0)
      throw error
    })
    await stopping
    // A second signal means now: the lock frees itself, and what was acknowledged is on disk.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(exitCodes.failed))
    const failures = await daemon.stop(DRAIN_MS)
    if (failures.length > 0) throw failures[0]?.error
  } finally {
    lock.release()
  }
}

async function takeLock(clock: Clock, stateDir: string, self: Holder): Promise<ProcessLock> {
  const startedMs = clock.elapsed()
  for (;;) {
    const lock = takeProcessLock(stateDir, self)
    if (!('heldBy' in lock)) return lock
    const { heldBy } = lock
    const known = heldBy && isAlive(heldBy.pid)
    if (known || clock.elapsed() - startedMs > HOLDER_WAIT_MS)
      throw new MemoryError(
        'LOCK_HELD',
        `memoryd already runs${known ? `: ${describe(heldBy)}` : ', but did not say as whom'}`,
        {
          hint: `state folder ${stateDir}; to replace it: memoryd restart`,
        },
      )
    await clock.delay(HOLDER_LOOK_MS)
  }
}

function describe({ pid, version, socket }: Holder): string {
  return `pid ${pid}, version ${version}, socket ${socket}`
}

/** Closing a terminal and `kill -HUP` send the same signal; only one of them takes the terminal away. */
function terminalIsThere(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

main().then(
  () => process.exit(exitCodes.ok),
  (error) => {
    process.stderr.write(`memoryd: ${explainError(error)}\n`)
    process.exit(exitCodeFor(error))
  },
)
