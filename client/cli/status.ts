/** `memoryd status`. */
import { type Context, columns } from './context.ts'
import { modeLine } from './start.ts'

export async function status({ connect, places, print }: Context): Promise<void> {
  const client = connect({ socket: places.socketPath, strict: true })
  const now = await client.status().finally(client.close)
  print.result(now, () => [
    `memoryd ${now.version} is ${now.state} (pid ${now.pid}, since ${now.startedAt})`,
    ...columns([
      ['mode', modeLine(now.mode)],
      ['socket', now.socket],
      ['state', now.stateDir],
      ['config', now.configFile],
      ['paused', now.paused.all ? 'everywhere' : now.paused.projects.join(', ') || 'nowhere'],
    ]),
    ...now.reasons.map(({ code, message, since }) => `degraded since ${since}: ${code}: ${message}`),
    ...now.errors.slice(0, 5).map(({ at, message }) => `${at} ${message}`),
  ])
}
