/** The service manager of this machine, if it has one that memoryd can use. */
import type { Context } from '../context.ts'
import { launchdService } from './launchd.ts'
import type { Service } from './manager.ts'
import { systemdService } from './systemd.ts'

/** Nothing where neither manager answers, as in a container or over a bare ssh login. */
export function findService(context: Context): Service | undefined {
  return process.platform === 'darwin' ? launchdService(context) : systemdService(context)
}
