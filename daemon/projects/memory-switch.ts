/** Whether memory is on, as Claude Code decides it: the first rule that matches. Does no I/O. */
import type { ClaudeSettings } from './claude-settings.ts'
import type { Variables } from './variables.ts'

export type MemorySwitch = { on: true } | { on: false; because: string }

export function decideSwitch(variables: Variables, settings: ClaudeSettings): MemorySwitch {
  const disabled = flag(variables.CLAUDE_CODE_DISABLE_AUTO_MEMORY)
  if (disabled === 'set') return off('CLAUDE_CODE_DISABLE_AUTO_MEMORY is set')
  if (disabled === 'cleared') return { on: true }
  if (flag(variables.CLAUDE_CODE_SIMPLE) === 'set') return off('CLAUDE_CODE_SIMPLE is set')
  if (flag(variables.CLAUDE_CODE_REMOTE) === 'set' && !variables.CLAUDE_CODE_REMOTE_MEMORY_DIR)
    return off('CLAUDE_CODE_REMOTE is set without CLAUDE_CODE_REMOTE_MEMORY_DIR')
  // The more particular file first, as the client merges them; the policy stands above all.
  for (const source of ['policy', 'local', 'committed', 'user'] as const) {
    const enabled = settings[source].autoMemoryEnabled
    if (enabled !== undefined) return enabled ? { on: true } : off(`autoMemoryEnabled is false in ${source} settings`)
  }
  return { on: true }
}

function off(because: string): MemorySwitch {
  return { on: false, because }
}

function flag(value: string | undefined): 'set' | 'cleared' | undefined {
  if (value === undefined) return undefined
  const word = value.trim().toLowerCase()
  if (['1', 'true', 'yes', 'on'].includes(word)) return 'set'
  return ['0', 'false', 'no', 'off'].includes(word) ? 'cleared' : undefined
}
