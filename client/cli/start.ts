/** `memoryd start`, `stop` and `restart`. */
import type { Holder } from '../../schema/holder.ts'
import type { Status } from '../../schema/process.ts'
import { type Context, columns } from './context.ts'
import { endDaemon, health, readHolder, spawnDaemon, untilItAnswers } from './daemon-process.ts'
import { findService } from './service/service.ts'

export async function start(context: Context): Promise<void> {
  const { self, connect, places } = context
  const before = await health(context)
  const client = connect({ socket: places.socketPath })
  // One that has just answered may be gone by now: it was stopping.
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
  await startOne(context)
  const client = context.connect({ socket: context.places.socketPath, strict: true })
  return client.status().finally(client.close)
}

async function startOne(context: Context): Promise<void> {
  const service = findService(context)
  if (service?.installed()) {
    service.start()
    await untilItAnswers(context)
  } else await spawnDaemon(context)
}

export function modeLine(mode: 'online' | 'offline'): string {
  return mode === 'online' ? 'online' : 'offline: no model is called, nothing leaves this machine'
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
  const holder = readHolder(context)
  service.stop()
  // A daemon that stops takes its name away; one that was killed before has left it.
  return readHolder(context) ? undefined : holder
}

export async function restart(context: Context): Promise<void> {
  await stop({ ...context, print: { ...context.print, result: () => {} } })
  await start(context)
}
