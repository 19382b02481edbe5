/** `memoryd service install|uninstall|status`. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import type { Context } from '../context.ts'
import { endDaemon } from '../daemon-process.ts'
import type { Service } from './manager.ts'
import { findService } from './service.ts'

export async function installService(context: Context): Promise<void> {
  const service = requireService(context)
  if (service.running()) service.stop()
  // A daemon started by hand would hold the lock against the service's.
  await endDaemon(context)
  // launchd opens its log there before the daemon could make the folder.
  mkdirSync(dirname(context.places.logFile), { recursive: true, mode: 0o700 })
  service.install()
  context.print.result({ installed: true, kind: service.kind, files: service.files }, () => [
    `memoryd is now a ${service.kind} service of yours: it starts with your session and after a crash`,
    ...service.files.map((file) => `  ${file}`),
    `undo with: ${context.self} service uninstall`,
  ])
}

export function uninstallService(context: Context): void {
  const service = requireService(context)
  const was = service.installed()
  if (was) service.uninstall()
  context.print.result({ uninstalled: was, kind: service.kind }, () => [
    was ? `removed the ${service.kind} service; memories and state are untouched` : 'there was no memoryd service',
  ])
}

export function serviceStatus(context: Context): void {
  const service = findService(context)
  const facts = { kind: service?.kind, installed: service?.installed() ?? false, running: service?.running() ?? false }
  context.print.result(facts, () => [
    service
      ? `${service.kind}: ${facts.installed ? 'installed' : 'not installed'}, ${facts.running ? 'running' : 'not running'}`
      : 'neither a systemd user manager nor launchd answers here',
  ])
}

function requireService(context: Context): Service {
  const service = findService(context)
  if (service) return service
  throw new MemoryError('SETUP', 'neither a systemd user manager nor launchd answers here, so nothing was changed', {
    hint: `run the daemon without a service: ${context.self} start`,
  })
}
