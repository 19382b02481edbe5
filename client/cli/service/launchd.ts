/** memoryd as a launchd agent. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import { readTemplate } from '../installation.ts'
import { control, mentions, refuseToReplace, type Service, succeeds, unitValues, writeUnit } from './manager.ts'
import { fillPlist, startedBy, xml } from './units.ts'

const LABEL = 'dev.memoryd'

export function launchdService(context: Context): Service | undefined {
  const domain = `gui/${process.getuid?.()}`
  const target = `${domain}/${LABEL}`
  const launchctl = (...args: string[]) => control(context, 'launchctl', args)
  if (!succeeds(context, 'launchctl', ['print', domain])) return undefined
  const file = join(context.places.home, 'Library', 'LaunchAgents', `${LABEL}.plist`)
  const serves = () => mentions(file, `<string>${xml(context.places.stateDir)}</string>`)
  const running = () => serves() && succeeds(context, 'launchctl', ['print', target])
  const stop = () => {
    if (running()) launchctl('bootout', target)
  }
  return {
    kind: 'launchd',
    files: [file],
    starts: () => startedBy(readFileSync(file, 'utf8')),
    installed: () => existsSync(file) && serves(),
    running,
    install: () => {
      refuseToReplace(file, serves)
      stop()
      writeUnit(file, fillPlist(readTemplate(`launchd/${LABEL}.plist`), unitValues(context)))
      launchctl('bootstrap', domain, file)
    },
    uninstall: () => {
      stop()
      rmSync(file, { force: true })
    },
    start: () => {
      if (!running()) launchctl('bootstrap', domain, file)
    },
    stop,
  }
}
