/** The real `memoryd mcp`, spoken to by the official client over standard input and output. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { cliMain } from './cli.ts'
import type { Home } from './home.ts'

export async function openMcp(home: Home, cwd: string, ...args: string[]) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cliMain, 'mcp', ...args],
    cwd,
    env: home.env as Record<string, string>,
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  /** The text of an answer, with whether it is an error. */
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: args })
    const [block] = content as { type: string; text: string }[]
    return { text: block?.text ?? '', isError }
  }
  return {
    client,
    pid: transport.pid as number,
    call,
    /** Of a call that went well. */
    said: async (name: string, args: Record<string, unknown> = {}) => {
      const { text, isError } = await call(name, args)
      if (isError) throw new Error(text)
      return text
    },
    stderr: () => stderr,
  }
}
