/** `memoryd connect mcp`: how each harness is told of the MCP server. Their files are rewritten by themselves: nothing is changed. */
import type { Context } from '../context.ts'
import { cliMain, shellWord } from '../installation.ts'

export function showMcp({ print }: Context): void {
  const server = { command: process.execPath, args: [cliMain, 'mcp'] }
  const words = [server.command, ...server.args].map(shellWord).join(' ')
  const config = JSON.stringify({ mcpServers: { memoryd: server } }, null, 2)
  print.result({ mcpServers: { memoryd: server } }, () => [
    'Claude Code:',
    `  claude mcp add --scope user memoryd -- ${words}`,
    'Codex:',
    `  codex mcp add memoryd -- ${words}`,
    'Gemini CLI:',
    `  gemini mcp add --scope user memoryd ${words}`,
    'Any other, in its own configuration (.mcp.json, mcp.json or the like):',
    ...config.split('\n').map((line) => `  ${line}`),
  ])
}

export function forgetMcp({ print }: Context): void {
  print.result({ changed: false }, () => [
    'Claude Code:',
    '  claude mcp remove --scope user memoryd',
    'Codex:',
    '  codex mcp remove memoryd',
    'Gemini CLI:',
    '  gemini mcp remove --scope user memoryd',
  ])
}
