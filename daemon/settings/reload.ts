/** Takes up a changed configuration while the daemon runs, on a change of the file and on SIGHUP. */
import type { Conditions } from '../platform/conditions.ts'
import { watchOneFile } from '../platform/file-watch.ts'
import type { Log } from '../platform/log.ts'
import type { LiveSettings } from './live.ts'
import type { Settings } from './settings.ts'

type Deps = {
  file: string
  settings: LiveSettings
  conditions: Conditions
  log: Log
  onChange: (settings: Settings) => void
}

export function startReloading({ file, settings, conditions, log, onChange }: Deps): { reload(): void; stop(): void } {
  const reload = () => {
    const result = settings.reload()
    if (result.outcome === 'refused') {
      return conditions.raise('config', `${result.error.message}\nThe settings before it stay in force.`)
    }
    conditions.clear('config')
    if (result.outcome === 'unchanged') return
    onChange(settings.current())
    log.info({ file }, 'settings reloaded')
  }
  return { reload, stop: watchOneFile(file, reload).stop }
}
