/** Where a project's memories are: the first source that names a place. Refuses places nobody can mean. Does no I/O. */
import { realpathSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { ClaudeSettings } from './claude-settings.ts'
import { slugOf } from './slug.ts'
import type { Variables } from './variables.ts'

export type MemoryDir = { dir: string; source: 'override' | 'policy' | 'local' | 'user' | 'default' }

export type MemoryDirFacts = { root: string; home: string; variables: Variables; settings: ClaudeSettings }

const named: Record<MemoryDir['source'], string> = {
  override: 'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE',
  policy: 'autoMemoryDirectory in policy settings',
  local: 'autoMemoryDirectory in local settings',
  user: 'autoMemoryDirectory in user settings',
  default: 'CLAUDE_CODE_REMOTE_MEMORY_DIR or CLAUDE_CONFIG_DIR',
}

export function chooseMemoryDir(facts: MemoryDirFacts): MemoryDir {
  const { path, source } = firstNamed(facts)
  const problem = problemOf(path, facts.home)
  if (problem) throw refusal(path, source, problem)
  return { dir: tidy(path), source }
}

/** `target` is what the chosen place resolves to on disk, if that can be told. */
export function refuseLinked({ dir, source }: MemoryDir, target: string | undefined, home: string): void {
  if (target === undefined) throw refusal(dir, source, 'cannot be resolved')
  const problem = target === dir ? undefined : problemOf(target, home)
  if (problem) throw refusal(dir, source, `leads to ${shown(target)}, which ${problem}`)
}

/** Whether a directory is, or leads to, a place for memories: one that was chosen once may have become a link to any other. */
export function isMemoryPlace(dir: string, home: string): boolean {
  try {
    return problemOf(realpathSync(dir), home) === undefined
  } catch {
    return false
  }
}

/** Where Claude Code keeps what is the user's own. */
export function configDirOf(variables: Variables, home: string): string {
  return variables.CLAUDE_CONFIG_DIR ?? join(home, '.claude')
}

function firstNamed({ root, home, variables, settings }: MemoryDirFacts): {
  path: string
  source: MemoryDir['source']
} {
  const override = variables.CLAUDE_COWORK_MEMORY_PATH_OVERRIDE
  if (override !== undefined) return { path: override, source: 'override' }
  for (const source of ['policy', 'local', 'user'] as const) {
    const path = settings[source].autoMemoryDirectory
    if (path !== undefined) return { path: path.startsWith('~/') ? `${home}/${path.slice(2)}` : path, source }
  }
  const base = variables.CLAUDE_CODE_REMOTE_MEMORY_DIR ?? configDirOf(variables, home)
  return { path: `${base}/projects/${slugOf(root)}/memory`, source: 'default' }
}

export function problemOf(path: string, home: string): string | undefined {
  if (path.includes('\0')) return 'holds a NUL byte'
  if (/^[A-Za-z]:[\\/]*$/.test(path)) return 'is a drive root'
  if (/^(\\\\|\/\/)/.test(path)) return 'is a network path'
  if (!isAbsolute(path)) return 'is relative'
  const place = tidy(path)
  if (place.split('/').filter(Boolean).length < 2) return 'is the root or one level below it'
  // Every markdown file in there would count as a memory.
  if (`${tidy(home)}/`.startsWith(`${place}/`)) return 'is your home directory or holds it'
  return undefined
}

function tidy(path: string): string {
  return normalize(path)
    .normalize('NFC')
    .replace(/(.)\/+$/, '$1')
}

function refusal(path: string, source: MemoryDir['source'], problem: string): MemoryError {
  return new MemoryError('REFUSED', `the memory directory ${shown(path)} ${problem}`, {
    reason: 'path',
    hint: `${named[source]} must name an absolute path, at least two levels below the root`,
  })
}

function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}
