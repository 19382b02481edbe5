/** `memoryd mcp`. */
import { serveMcp } from '../mcp/server.ts'
import type { Context } from './context.ts'

export type McpOptions = { cwd: string; version: string; autostart: boolean; start: readonly [string, ...string[]] }

/** A model's tool call may wait longer than a hook, and a daemon may have to be started first. */
const DEADLINE_MS = 30_000

export async function mcp(
  { connect, places, self }: Context,
  { cwd, version, autostart, start }: McpOptions,
): Promise<void> {
  const client = connect({
    socket: places.socketPath,
    strict: true,
    actor: 'agent:mcp',
    deadlineMs: DEADLINE_MS,
    ...(autostart && { autostart: { command: start } }),
  })
  // A file ends and is never closed.
  const closed = new Promise<void>((resolve) => process.stdin.once('close', resolve).once('end', resolve))
  const onError = (error: Error) => void process.stderr.write(`memoryd mcp: ${error.message}\n`)
  const serving = serveMcp({ client, cwd, version, self, onError })
  await closed
  await serving.close()
  client.close()
}
