/** Instruction files (CLAUDE.md and its kin) for a folder, lowest priority first. The memory index is the caller's to add. */
import { dirname } from 'node:path'
import { createLoader, type Item } from './loader.ts'
import { createRules } from './rules.ts'
import { findSources } from './sources.ts'
import { boundsOf, canonical } from './text-file.ts'

export type InstructionPlaces = {
  cwd: string
  /** The folder of the project that holds cwd; in a worktree, the worktree's. */
  root: string
  claudeDir: string
  managedFile: string
  home: string
  /** Whether `AGENTS.md` counts beside `CLAUDE.md`. */
  agentsMd: boolean
  /** Files in question, absolute or relative to the root: rules with `paths:` apply when one of them matches. */
  files?: readonly string[] | undefined
}

export const MANAGED_FILE = '/etc/claude-code/CLAUDE.md'

export function loadInstructions(places: InstructionPlaces): { items: Item[] } {
  const { home, claudeDir, managedFile, agentsMd, files = [] } = places
  const root = canonical(places.root)
  const project = boundsOf(places.root)
  const rules = createRules({ roots: [...new Set(project.named)], files })
  const loader = createLoader({
    home,
    project,
    own: boundsOf(home, claudeDir, dirname(managedFile)),
    judge: rules.judge,
  })
  const sources = findSources({ cwd: canonical(places.cwd), root, claudeDir, managedFile, agentsMd }, { project })
  for (const source of sources) loader.add(source)
  return { items: loader.items }
}
