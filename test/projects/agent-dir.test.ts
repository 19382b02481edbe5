import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agentDirOf, isAgentDir, isAgentPlace } from '../../daemon/projects/agent-dir.ts'
import type { Variables } from '../../daemon/projects/variables.ts'
import type { Agent } from '../../schema/agent-memory.ts'
import { makeHome } from '../support/home.ts'

function rig() {
  const { dir: home } = makeHome()
  const root = join(home, 'work/repo')
  mkdirSync(root, { recursive: true })
  const dirOf = (agent: Agent, variables: Variables = {}) => agentDirOf({ root, home, variables, ...agent })
  return { home, root, dirOf }
}

describe('the memory directory of an agent', () => {
  it('is one for each scope', () => {
    const { home, root, dirOf } = rig()
    expect(dirOf({ type: 'reviewer', scope: 'user' })).toBe(join(home, '.claude/agent-memory/reviewer'))
    expect(dirOf({ type: 'reviewer', scope: 'project' })).toBe(join(root, '.claude/agent-memory/reviewer'))
    expect(dirOf({ type: 'reviewer', scope: 'local' })).toBe(join(root, '.claude/agent-memory-local/reviewer'))
  })

  it('follows the variables that move the configuration and the remote mount', () => {
    const { home, root, dirOf } = rig()
    const variables = { CLAUDE_CONFIG_DIR: join(home, 'conf'), CLAUDE_CODE_REMOTE_MEMORY_DIR: join(home, 'mount') }
    const slug = root.replaceAll(/[^A-Za-z0-9]/g, '-')
    expect(dirOf({ type: 'x', scope: 'user' }, variables)).toBe(join(home, 'conf/agent-memory/x'))
    expect(dirOf({ type: 'x', scope: 'project' }, variables)).toBe(join(root, '.claude/agent-memory/x'))
    expect(dirOf({ type: 'x', scope: 'local' }, variables)).toBe(
      join(home, `mount/projects/${slug}/agent-memory-local/x`),
    )
  })

  it('has a name that is no path, whatever the type', () => {
    const { root, dirOf } = rig()
    const nameOf = (type: string) => dirOf({ type, scope: 'project' }).slice(join(root, '.claude/agent-memory/').length)
    expect(nameOf('plugin:reviewer')).toBe('plugin-reviewer')
    for (const type of ['..', '.', '../../x', 'a/b', 'a\0b', 'ä', 'x'.repeat(129)])
      expect(nameOf(type)).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each(['.claude', '.claude/agent-memory', '.claude/agent-memory/reviewer'])(
    'is refused where a repository links %s elsewhere',
    (link) => {
      const { home, root, dirOf } = rig()
      const elsewhere = join(home, '.ssh')
      mkdirSync(elsewhere)
      mkdirSync(join(root, link, '..'), { recursive: true })
      symlinkSync(elsewhere, join(root, link))
      expect(() => dirOf({ type: 'reviewer', scope: 'project' })).toThrow('leads elsewhere through a link')
      expect(dirOf({ type: 'reviewer', scope: 'user' })).toBe(join(home, '.claude/agent-memory/reviewer'))
    },
  )

  it('may be reached through links of the user, and counts no longer when one takes its place', () => {
    const { home, dirOf } = rig()
    mkdirSync(join(home, 'dotfiles/agent-memory/x'), { recursive: true })
    symlinkSync(join(home, 'dotfiles'), join(home, '.claude'))
    const dir = dirOf({ type: 'x', scope: 'user' })
    expect(dir).toBe(join(home, 'dotfiles/agent-memory/x'))
    expect([isAgentDir(dir), isAgentPlace(dir)]).toEqual([true, true])
    renameSync(dir, `${dir}-old`)
    symlinkSync(home, dir)
    expect([isAgentDir(dir), isAgentPlace(dir)]).toEqual([true, false])
  })
})
