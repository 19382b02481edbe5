/** Where a type of sub-agent keeps its own memories: for the user, for the project, or for the project on this machine. */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentScope } from '../../schema/agent-memory.ts'
import { MemoryError } from '../../schema/errors.ts'
import { safeId } from '../platform/safe-id.ts'
import { createLooks } from './looks.ts'
import { configDirOf, problemOf } from './memory-dir.ts'
import { slugOf } from './slug.ts'
import type { Variables } from './variables.ts'

export type AgentDirFacts = { root: string; home: string; variables: Variables; type: string; scope: AgentScope }

/** With every link followed. A repository cannot send us elsewhere: below its root there must be none. */
export function agentDirOf({ root, home, variables, type, scope }: AgentDirFacts): string {
  const name = safeId(type.replaceAll(':', '-'))
  const { base, below } = placeOf({ root, home, variables, scope })
  const looks = createLooks()
  const from = looks.resolve(base)
  const dir = join(base, below, name)
  const target = looks.resolve(dir)
  const refuse = (problem: string) =>
    new MemoryError('REFUSED', `the memory of agent ${name} in ${base} ${problem}`, { reason: 'path' })
  if (from === undefined || target === undefined) throw refuse('cannot be reached')
  if (target !== join(from, below, name)) throw refuse('leads elsewhere through a link')
  const problem = problemOf(target, home)
  if (problem) throw refuse(problem)
  return target
}

/** Whether a directory that was chosen once still is where it was: links change while nobody looks. */
export function isAgentPlace(dir: string): boolean {
  try {
    return realpathSync(dir) === dir
  } catch {
    return false
  }
}

export function isAgentDir(dir: string): boolean {
  return /\/agent-memory(-local)?\/[^/]+$/.test(dir)
}

function placeOf({ root, home, variables, scope }: Omit<AgentDirFacts, 'type'>): { base: string; below: string } {
  if (scope === 'user') return { base: configDirOf(variables, home), below: 'agent-memory' }
  if (scope === 'project') return { base: root, below: '.claude/agent-memory' }
  const remote = variables.CLAUDE_CODE_REMOTE_MEMORY_DIR
  if (remote === undefined) return { base: root, below: '.claude/agent-memory-local' }
  return { base: remote, below: `projects/${slugOf(root)}/agent-memory-local` }
}
