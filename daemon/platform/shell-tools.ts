/** What harnesses call the tool that runs commands. */
const SHELLS = new Set([
  'bash',
  'exec_command',
  'local_shell',
  'powershell',
  'run_shell_command',
  'shell',
  'shell_command',
])

/** Some put the name of a server before it. */
export function isShellTool(name: string): boolean {
  return SHELLS.has((name.split('.').at(-1) ?? '').toLowerCase())
}
