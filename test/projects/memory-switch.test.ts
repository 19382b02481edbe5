import { describe, expect, it } from 'vitest'
import type { ClaudeSettings } from '../../daemon/projects/claude-settings.ts'
import { decideSwitch } from '../../daemon/projects/memory-switch.ts'
import type { Variables } from '../../daemon/projects/variables.ts'

const silent: ClaudeSettings = { policy: {}, local: {}, committed: {}, user: {} }
const off = { autoMemoryEnabled: false } as const
const on = { autoMemoryEnabled: true } as const

describe('memory', () => {
  it.each<[string, Variables, Partial<ClaudeSettings>, true | string]>([
    ['by default', {}, {}, true],
    ['disabled', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }, { policy: on }, 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is set'],
    ['disabled in words', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'True' }, {}, 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is set'],
    [
      'explicitly not disabled',
      { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0', CLAUDE_CODE_SIMPLE: '1', CLAUDE_CODE_REMOTE: '1' },
      { policy: off, local: off, committed: off, user: off },
      true,
    ],
    ['explicitly not disabled in words', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'false' }, { user: off }, true],
    ['disabled by a word nobody knows', { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'maybe' }, {}, true],
    ['simple', { CLAUDE_CODE_SIMPLE: '1' }, { policy: on }, 'CLAUDE_CODE_SIMPLE is set'],
    ['not simple', { CLAUDE_CODE_SIMPLE: '0' }, {}, true],
    [
      'remote',
      { CLAUDE_CODE_REMOTE: 'true' },
      { user: on },
      'CLAUDE_CODE_REMOTE is set without CLAUDE_CODE_REMOTE_MEMORY_DIR',
    ],
    ['remote with a place', { CLAUDE_CODE_REMOTE: '1', CLAUDE_CODE_REMOTE_MEMORY_DIR: '/r/m' }, {}, true],
    ['off by policy', {}, { policy: off, local: on, user: on }, 'autoMemoryEnabled is false in policy settings'],
    ['on by policy', {}, { policy: on, local: off, committed: off }, true],
    ['off locally', {}, { local: off, user: on }, 'autoMemoryEnabled is false in local settings'],
    ['on locally', {}, { local: on, committed: off, user: off }, true],
    ['off in the repository', {}, { committed: off, user: on }, 'autoMemoryEnabled is false in committed settings'],
    ['off for the user', {}, { user: off }, 'autoMemoryEnabled is false in user settings'],
  ])('is decided by the first rule that matches: %s', (_what, variables, settings, expected) => {
    expect(decideSwitch(variables, { ...silent, ...settings })).toEqual(
      expected === true ? { on: true } : { on: false, because: expected },
    )
  })
})
