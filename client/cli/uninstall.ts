/** `memoryd uninstall`: takes away what memoryd put on the machine, except the memories. */
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { confirm } from './confirm.ts'
import type { Context } from './context.ts'
import { endDaemon } from './daemon-process.ts'
import { findService } from './service/service.ts'

export type UninstallOptions = { state?: boolean }

/** Only what memoryd itself makes: the state folder may have been pointed at one that holds other things. */
const OURS =
  /^(index\.db|history\.db|daemon\.lock|daemon\.json|memoryd\.sock)|^(logs|backups|corrupt|sessions|tool-results|connections)$/

export async function uninstall(context: Context, options: UninstallOptions): Promise<void> {
  const service = findService(context)
  const hadService = service?.installed() ?? false
  if (hadService) service?.uninstall()
  const { disconnectAll } = await import('./connect/connect.ts')
  const { files, failed } = disconnectAll(context)
  await endDaemon(context)
  const deleteState = options.state ?? (await ask(context))
  if (deleteState) removeState(context.places.stateDir)
  const { stateDir, configFile } = context.places
  context.print.result({ service: hadService, hooks: files, failed, state: deleteState }, () => [
    hadService ? 'removed the service' : 'there was no service',
    ...files.map((file) => `took our hooks out of ${file}`),
    ...failed.map((why) => `hooks could not be taken out: ${why}`),
    deleteState ? `deleted ${stateDir}` : `kept ${stateDir} (journal and backups); delete it with --state`,
    `left alone: your memories, and ${configFile}`,
  ])
}

/** Without a person to ask, nothing is deleted. */
async function ask({ places }: Context): Promise<boolean> {
  if (!existsSync(places.stateDir)) return false
  return (await confirm(`Also delete ${places.stateDir}, with the history that undo needs?`)) === 'yes'
}

function removeState(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) if (OURS.test(name)) rmSync(join(folder, name), { recursive: true })
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}
