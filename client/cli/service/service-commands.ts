/** The commands service install, uninstall and status, and `memoryd uninstall`, which takes all but memories away. */
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MemoryError } from '../../../schema/errors.ts'
import { type Context, confirm } from '../context.ts'
import { endDaemon, refuseWrongConfiguration } from '../daemon.ts'
import { findService, type Service } from './service.ts'

export async function installService(context: Context): Promise<void> {
  const service = requireService(context)
  await refuseWrongConfiguration(context)
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

/** Only what memoryd itself makes: the state folder may have been pointed at one that holds other things. */
const OURS =
  /^(index\.db|history\.db|daemon\.lock|daemon\.json|memoryd\.sock)|^(logs|backups|corrupt|sessions|tool-results|connections|dreams)$/

/** `state`: delete the state folder or not; asks where not given, and keeps it where there is no terminal to ask at. */
export async function uninstall(context: Context, { state }: { state?: boolean }): Promise<void> {
  const { stateDir, configFile } = context.places
  const service = findService(context)
  const hadService = service?.installed() ?? false
  if (hadService) service?.uninstall()
  const { disconnectAll } = await import('../connect/connect.ts')
  const { files, failed } = disconnectAll(context)
  const daemon = await endDaemon(context)
  const dreamt = existsSync(join(stateDir, 'dreams'))
  const question = `Also delete ${stateDir}, with the history that undo needs?`
  const hadState = existsSync(stateDir)
  const deleteState = hadState && (state ?? (await confirm(question)) === 'yes')
  if (deleteState) removeState(stateDir)
  const kept = hadState ? `kept ${stateDir} (journal and backups); delete it with --state` : 'there was no state folder'
  const deleted = existsSync(stateDir) ? `all of ours in ${stateDir}; other files are there` : stateDir
  context.print.result({ service: hadService, hooks: files, failed, state: deleteState }, () => [
    hadService ? 'removed the service' : 'there was no service',
    ...(daemon ? [`stopped the daemon (pid ${daemon.pid})`] : []),
    ...files.map((file) => `took our hooks out of ${file}`),
    ...failed.map((why) => `hooks could not be taken out: ${why}`),
    deleteState ? `deleted ${deleted}` : kept,
    'no cache is left',
    'left alone: your memories',
    ...(dreamt ? ['left alone: .consolidate-lock beside them, which keeps the time of the last dream'] : []),
    ...(existsSync(configFile) ? [`left alone: ${configFile}`] : []),
    ...(context.self === 'memoryd' ? ['left alone: the program; to remove it: npm uninstall -g memoryd'] : []),
  ])
}

function removeState(folder: string): void {
  for (const name of readdirSync(folder)) if (OURS.test(name)) rmSync(join(folder, name), { recursive: true })
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
