/** The process: environment → lock → settings → daemon → signals. The only place that exits. Runs when loaded. */
import { closeSync, openSync } from 'node:fs'
import { exitCodeFor, exitCodes, explainError } from '../schema/errors.ts'
import { findPlaces, readVersion } from '../schema/rendezvous.ts'
import { startDaemon } from './daemon.ts'
import { createClock } from './platform/clock.ts'
import { ensurePrivateFolder } from './platform/files.ts'
import { keepHeapSmall } from './platform/process.ts'
import { waitForLock } from './platform/process-lock.ts'
import { notifyReady } from './platform/systemd.ts'
import { loadSettings } from './settings/live-settings.ts'

const DRAIN_MS = 60_000

async function main(): Promise<void> {
  process.umask(0o077)
  // Node would open its debugger on a TCP port for this signal, to anyone on the machine.
  process.on('SIGUSR1', () => {})
  // Read now: this cannot be told once the terminal is gone.
  const onTerminal = process.stdin.isTTY
  const env = { ...process.env }
  // What systemd passed is for this process, not for those it starts.
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]

  let onHangUp = () => {}
  process.on('SIGHUP', () => onHangUp())
  const clock = createClock()
  const version = readVersion()
  const places = findPlaces(env)
  ensurePrivateFolder(places.stateDir, 'state')
  const lock = await waitForLock(clock, places.stateDir, {
    pid: process.pid,
    version,
    socket: places.socketPath,
    startedAt: new Date(clock.now()).toISOString(),
  })
  let reload = () => {}
  const stopping = new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
    onHangUp = () => {
      if (!onTerminal || terminalIsThere()) return reload()
      leaveTerminal()
      resolve()
    }
  })
  // A terminal that was closed must not take the daemon down before it has stopped in order.
  process.stdout.on('error', () => {})

  // Until this daemon has stopped in order, the next one must look after what the last one left.
  let ending = lock.lastStop
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
    process.on('uncaughtException', (error) => {
      if (daemon.outlives(error)) return
      process.stderr.write(`memoryd: ${explainError(error)}\n`)
      process.exit(exitCodes.failed)
    })
    await notifyReady(env.NOTIFY_SOCKET).catch(async (error) => {
      await daemon.stop(0)
      throw error
    })
    keepHeapSmall()
    await stopping
    ending = 'unclean'
    // A second signal means now: the lock frees itself, and what was acknowledged is on disk.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(exitCodes.failed))
    ending = await daemon.stop(DRAIN_MS)
  } finally {
    lock.release(ending)
  }
}

/** At its exit Node aborts when it cannot reset a terminal that is gone, unless these descriptors lead elsewhere. */
function leaveTerminal(): void {
  for (const fd of [0, 1, 2]) {
    closeSync(fd)
    openSync('/dev/null', 'r+')
  }
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

main().then(
  () => process.exit(exitCodes.ok),
  (error) => {
    process.stderr.write(`memoryd: ${explainError(error)}\n`)
    process.exit(exitCodeFor(error))
  },
)
