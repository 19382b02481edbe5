/** `memoryd mcp`: serves MCP over standard input and output until its client closes them. */
import { once } from 'node:events'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { serveMcp } from '../mcp/server.ts'
import { type Context, refuseNoFolder } from './context.ts'
import { cliMain, version } from './installation.ts'

/** A model's tool call may wait longer than a hook, and a daemon may have to be started first. */
const DEADLINE_MS = 30_000

type McpOptions = { project?: string; autostart: boolean }

export async function mcp({ connect, places, self }: Context, options: McpOptions): Promise<void> {
  const cwd = resolve(options.project ?? '.')
  refuseNoFolder(cwd)
  const client = connect({
    socket: places.socketPath,
    strict: true,
    actor: 'agent:mcp',
    deadlineMs: DEADLINE_MS,
    ...(options.autostart && { autostart: { command: [process.execPath, cliMain, 'start'] } }),
  })
  const onError = (error: Error) => void process.stderr.write(`memoryd mcp: ${error.message}\n`)
  const input = Readable.from(untilAnswered(process.stdin))
  const server = serveMcp({ client, cwd, version, self }, input, onError)
  await once(input, 'close')
  await server.close()
  client.close()
}

/** At the end of its input the server breaks off what it has not answered: that end comes once nothing is left to do. */
async function* untilAnswered(input: Readable): AsyncGenerator<Buffer> {
  yield* input
  // The last line may lack its end.
  yield Buffer.from('\n')
  await once(process, 'beforeExit')
}
