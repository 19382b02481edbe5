/** The daemon's process from outside: the commands serve, start, stop, restart, pause and resume. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createProcesses, readHolder } from '../../daemon/platform/process.ts'
import { exitCodes, MemoryError } from '../../schema/errors.ts'
import type { Status } from '../../schema/process.ts'
import type { Holder } from '../../schema/rendezvous.ts'
import { type Context, columns, refuseNoFolder } from './context.ts'
import { daemonMain } from './installation.ts'
import { findService } from './service/service.ts'

/** By itself glibc keeps fifteen megabytes of what many transcripts freed, and an arena per thread. `systemd/memoryd.service` has the same. */
export const daemonEnv = { MALLOC_TRIM_THRESHOLD_: '524288', MALLOC_ARENA_MAX: '2' }

const LOOK_EVERY_MS = 25
const START_LIMIT_MS = 30_000
/** The daemon drains for up to 60 s. */
const STOP_LIMIT_MS = 70_000
/** A holder of the lock that has written no name yet, or none any more. */
const NAMELESS_LIMIT_MS = 10_000

/** How far a clock may have been set since a daemon began. */
const CLOCK_STEP_MS = 60_000
const TICKS_PER_S = 100

type Health = { pid: number }

async function health({ connect, places }: Context): Promise<Health | undefined> {
  const client = connect({ socket: places.socketPath })
  return client.health().finally(client.close)
}

/** Starts a detached daemon, again if another was still stopping, and waits until one answers. Throws what the daemon printed. */
export async function spawnDaemon(context: Context): Promise<Health> {
  const until = performance.now() + STOP_LIMIT_MS
  let namedMs = performance.now()
  for (;;) {
    const outcome = await spawnOnce(context)
    if (!('another' in outcome)) return outcome
    const { isLocked } = await import('../../daemon/platform/process-lock.ts')
    while (isLocked(context.places.stateDir)) {
      const answer = await health(context)
      if (answer) return answer
      const nowMs = performance.now()
      if (readHolder(context.places.stateDir)) namedMs = nowMs
      if (nowMs > until || nowMs - namedMs > NAMELESS_LIMIT_MS || isElsewhere(context)) throw outcome.another
      await delay(LOOK_EVERY_MS)
    }
  }
}

async function spawnOnce(context: Context): Promise<Health | { another: MemoryError }> {
  const words = openUnnamedFile()
  const child = spawn(process.execPath, [daemonMain], {
    detached: true,
    stdio: ['ignore', 'ignore', words],
    cwd: '/',
    env: { ...daemonEnv, ...context.env } as NodeJS.ProcessEnv,
  })
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code) => resolve(code ?? exitCodes.failed))
    child.once('error', () => resolve(exitCodes.failed))
  })
  child.unref()
  try {
    return await untilItAnswers(context, async () => {
      const code = await Promise.race([exited, delay(LOOK_EVERY_MS, undefined)])
      if (code === undefined) return undefined
      const failure = startFailure(code, readAll(words))
      if (code === exitCodes.alreadyRunning && !isElsewhere(context)) return { another: failure }
      throw failure
    })
  } finally {
    closeSync(words)
  }
}

/** A holder at our socket is as good as the daemon that we started. */
function isElsewhere(context: Context): boolean {
  const holder = readHolder(context.places.stateDir)
  return holder !== undefined && holder.socket !== context.places.socketPath
}

async function untilItAnswers<T = never>(
  context: Context,
  between: () => Promise<T | undefined> = () => delay(LOOK_EVERY_MS, undefined),
): Promise<Health | T> {
  const until = performance.now() + START_LIMIT_MS
  while (performance.now() < until) {
    const answer = (await health(context)) ?? (await between())
    if (answer) return answer
  }
  throw new MemoryError('UNREACHABLE', 'the daemon does not answer', { hint: `run: ${context.self} doctor` })
}

export async function endDaemon(context: Context): Promise<Holder | Health | undefined> {
  const running = (await health(context)) ?? (await livingHolder(context))
  if (!running || !askToEnd(running.pid)) return undefined
  const until = performance.now() + STOP_LIMIT_MS
  const { isAlive } = createProcesses()
  const late = `the daemon (pid ${running.pid}) did not stop within ${STOP_LIMIT_MS / 1000} s`
  const hint = `look at ${context.self} logs; kill -9 ${running.pid} is safe, nothing that was acknowledged gets lost`
  while (isAlive(running.pid)) {
    if (performance.now() > until) throw new MemoryError('INTERNAL', late, { hint })
    await delay(LOOK_EVERY_MS)
  }
  return running
}

/**
 * A daemon that was killed leaves its name behind, and the kernel may have given its pid to another process. A program that
 * tests the lock holds it for a moment, so a held lock is not enough: the process must be as old as the name, too.
 */
async function livingHolder(context: Context): Promise<Holder | undefined> {
  const { isLocked } = await import('../../daemon/platform/process-lock.ts')
  const holder = isLocked(context.places.stateDir) ? readHolder(context.places.stateDir) : undefined
  return holder && begunMs(holder.pid) <= Date.parse(holder.startedAt) + CLOCK_STEP_MS ? holder : undefined
}

/** When a process began; 0 where the system does not tell. */
function begunMs(pid: number): number {
  const ticks = createProcesses().birthOf(pid)
  if (ticks === undefined) return 0
  const [upS] = readFileSync('/proc/uptime', 'utf8').split(' ')
  return Date.now() - 1000 * (Number(upS) - Number(ticks) / TICKS_PER_S)
}

function askToEnd(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGTERM')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

function startFailure(code: number, words: string): MemoryError {
  const said = words.trim().replace(/^memoryd: /, '')
  const kind = code === exitCodes.setup ? 'SETUP' : code === exitCodes.alreadyRunning ? 'LOCK_HELD' : 'INTERNAL'
  return new MemoryError(kind, said || `the daemon ended with code ${code}`)
}

/** A file without a name: nothing is left behind however this ends. */
function openUnnamedFile(): number {
  const folder = mkdtempSync(join(existsSync(tmpdir()) ? tmpdir() : '/tmp', 'memoryd-'))
  const fd = openSync(join(folder, 'stderr'), 'w+', 0o600)
  rmSync(folder, { recursive: true })
  return fd
}

function readAll(fd: number): string {
  const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, 64_000))
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
}

export async function start(context: Context): Promise<void> {
  const { self, connect, places } = context
  const before = await health(context)
  const client = connect({ socket: places.socketPath })
  // A daemon that was stopping may be gone by now.
  const status = (before && (await client.status().finally(client.close))) ?? (await statusOfNew(context))
  const started = status.pid !== before?.pid
  context.print.result({ started, ...status }, () => [
    `memoryd ${status.version} ${started ? 'is running' : 'already runs'} (pid ${status.pid}): one memory for every coding agent on this machine.`,
    ...columns([
      ['socket', status.socket],
      ['state', status.stateDir],
      ['mode', modeLine(status.mode)],
      ['next', `${self} status · ${self} logs -f · ${self} service install · ${self} stop`],
    ]),
  ])
}

async function statusOfNew(context: Context): Promise<Status> {
  const service = findService(context)
  if (service?.installed()) {
    service.start()
    await untilItAnswers(context)
  } else await spawnDaemon(context)
  const client = context.connect({ socket: context.places.socketPath, strict: true })
  return client.status().finally(client.close)
}

export function modeLine(mode: 'online' | 'offline'): string {
  return mode === 'online' ? 'online' : 'offline: no model is called, nothing leaves this machine'
}

/** The daemon refuses by itself, but does not know how it is called here. */
export async function serve(context: Context): Promise<void> {
  const holder = await livingHolder(context)
  const hint = `state folder ${context.places.stateDir}; to replace it: memoryd restart`
  if (holder) throw new MemoryError('LOCK_HELD', `memoryd already runs (pid ${holder.pid})`, { hint })
  await import('../../daemon/main.ts')
}

export async function stop(context: Context): Promise<void> {
  const byService = stopService(context)
  const ended = (await endDaemon(context)) ?? byService
  context.print.result({ stopped: ended !== undefined, pid: ended?.pid }, () => [
    ended ? `memoryd stopped (pid ${ended.pid})` : 'memoryd is not running',
  ])
}

/** A running socket unit would start the daemon again with the next caller. */
function stopService(context: Context): Holder | undefined {
  const service = findService(context)
  if (!service?.running()) return undefined
  const holder = readHolder(context.places.stateDir)
  service.stop()
  // A daemon that stops takes its name away; one that was killed before has left it.
  return readHolder(context.places.stateDir) ? undefined : holder
}

/** Before a daemon is ended to make room: one that cannot be followed by another must go on. */
export async function refuseWrongConfiguration({ places, env }: Context): Promise<void> {
  const { configuration } = await import('../../daemon/doctor/doctor.ts')
  const [found] = configuration(places, env)
  if (found?.state === 'problem') throw new MemoryError('SETUP', found.message, { hint: found.remedy })
}

export async function restart(context: Context): Promise<void> {
  await refuseWrongConfiguration(context)
  await stop({ ...context, print: { ...context.print, result: () => {} } })
  await start(context)
}

export type PauseOptions = { project?: string | true }

export async function setPaused(context: Context, to: 'pause' | 'resume', { project }: PauseOptions): Promise<void> {
  const client = context.connect({ socket: context.places.socketPath, strict: true })
  const input = project === undefined ? {} : { cwd: resolve(project === true ? '.' : project) }
  if (to === 'pause' && input.cwd) refuseNoFolder(input.cwd)
  const paused = await client[to](input).finally(client.close)
  context.print.result(paused, () => {
    if (paused.all) return ['paused everywhere: nothing is captured or recalled']
    const resumed = `capturing and recalling ${to === 'resume' && input.cwd ? `in ${input.cwd}` : 'everywhere'}`
    if (paused.projects.length === 0) return [resumed]
    return [...(to === 'resume' ? [resumed] : []), 'paused in:', ...paused.projects.map((folder) => `  ${folder}`)]
  })
}
