/** Takes up a changed configuration while the daemon runs, on a change of the file and on SIGHUP. */

import { watchOneFile } from '../platform/file-watch.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import type { LiveSettings } from './live.ts'

export function startReloading(file: string, settings: LiveSettings, health: Health, log: Log) {
  const reload = () => {
    const result = settings.reload()
    if (result.outcome === 'refused') {
      return health.raise('config', `${result.error.message}\nThe settings before it stay in force.`)
    }
    health.clear('config')
    if (result.outcome === 'unchanged') return
    log.info({ file }, 'settings reloaded')
  }
  return { reload, stop: watchOneFile(file, reload).stop }
}
