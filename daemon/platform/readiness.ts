/** Tells systemd, where it asked, that the daemon answers now. */
import { execFile } from 'node:child_process'

/** Node cannot send datagrams to a Unix socket, so systemd's own helper does. */
export function notifyReady(notifySocket: string | undefined): Promise<void> {
  if (!notifySocket) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const child = execFile('systemd-notify', ['--ready', `--pid=${process.pid}`], { timeout: 5_000 }, (error) =>
      error ? reject(error) : resolve(),
    )
    child.unref()
  })
}
