/** Tells systemd, where it asked, that the daemon answers now. */
import { execFile } from 'node:child_process'
import { MemoryError } from '../../schema/errors.ts'

/** Node cannot send datagrams to a Unix socket, so systemd's own helper does. */
export function notifyReady(notifySocket: string | undefined): Promise<void> {
  if (!notifySocket) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const child = execFile('systemd-notify', ['--ready', `--pid=${process.pid}`], { timeout: 5_000 }, (cause) => {
      if (!cause) return resolve()
      // Without the notice systemd would kill a daemon that answers.
      const hint = 'install systemd-notify (part of systemd), or start without the service: memoryd start'
      const problem = `systemd waits for a notice that cannot be sent: ${cause.message}`
      reject(new MemoryError('SETUP', problem, { hint, cause }))
    })
    child.unref()
  })
}
