/** `memoryd pause` and `memoryd resume`. */
import { resolve } from 'node:path'
import type { Context } from './context.ts'

/** `--project` alone means the current folder. */
export type PauseOptions = { project?: string | true }

export async function setPaused(context: Context, to: 'pause' | 'resume', { project }: PauseOptions): Promise<void> {
  const client = context.connect({ socket: context.places.socketPath, strict: true })
  const input = project === undefined ? {} : { cwd: resolve(project === true ? '.' : project) }
  const paused = await client[to](input).finally(client.close)
  context.print.result(paused, () => {
    if (paused.all) return ['paused everywhere: nothing is captured or recalled']
    if (paused.projects.length === 0) return ['capturing and recalling everywhere']
    return ['paused in:', ...paused.projects.map((folder) => `  ${folder}`)]
  })
}
