/**
 * The one door of this folder: a working directory and the caller's variables → project, memory directory, on or off.
 * Answers are kept until something they were made from looks different.
 */
import { isAbsolute } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { type Clock, createClock } from '../platform/clock.ts'
import { POLICY_FILE, readClaudeSettings } from './claude-settings.ts'
import { createLooks, LONGEST_PATH_BYTES, type Looks } from './looks.ts'
import { chooseMemoryDir, configDirOf, type MemoryDir, refuseLinked } from './memory-dir.ts'
import { decideSwitch, type MemorySwitch } from './memory-switch.ts'
import { findProjectRoot, type Project } from './project-root.ts'
import { mergeVariables, type Variables } from './variables.ts'

export type Located = Readonly<
  MemoryDir & { root: string; memory: Readonly<MemorySwitch>; madeFrom: readonly string[] }
>

export type Locator = {
  /** Throws a refusal when what is configured is no place for memories; creates nothing. */
  locate(cwd: string, callerEnv?: Environment): Located
  /** Where the memories of a project would be that had its root here, whatever stands here now. */
  placeOf(root: string, callerEnv?: Environment): MemoryDir
}

export type LocatorDeps = {
  /** The daemon's own; a caller's variable beats it. */
  env: Environment
  home: string
  policyFile?: string
  clock?: Pick<Clock, 'now'>
}

const MOST_KEPT = 256
const LONGEST_KEY = 32_768

export function createLocator({ env, home, policyFile = POLICY_FILE, clock = createClock() }: LocatorDeps): Locator {
  const kept = new Map<string, { answer: Located; looks: Looks }>()

  const place = (project: Project, variables: Variables, looks: Looks) => {
    const { root } = project
    const settings = readClaudeSettings({ project, configDir: configDirOf(variables, home), policyFile }, looks)
    const chosen = chooseMemoryDir({ root, home, variables, settings })
    refuseLinked(chosen, looks.resolve(chosen.dir), home)
    return { ...chosen, settings }
  }

  const work = (cwd: string, variables: Variables, looks: Looks): Located => {
    const project = findProjectRoot(cwd, looks)
    const { settings, ...chosen } = place(project, variables, looks)
    const memory = Object.freeze(decideSwitch(variables, settings))
    return Object.freeze({ root: project.root, ...chosen, memory, madeFrom: looks.places() })
  }

  const locate = (cwd: string, callerEnv?: Environment): Located => {
    refuseCwd(cwd)
    const variables = mergeVariables(env, callerEnv)
    const key = keyOf(cwd, variables)
    const known = kept.get(key)
    kept.delete(key)
    if (known?.looks.unchanged()) {
      kept.set(key, known)
      return known.answer
    }
    const looks = createLooks()
    const startedMs = clock.now()
    const answer = work(cwd, variables, looks)
    if (looks.settledAt(startedMs) && key.length <= LONGEST_KEY) kept.set(key, { answer, looks })
    // The map is in order of use: a hit puts its entry last.
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string)
    return answer
  }

  const placeOf = (root: string, callerEnv?: Environment): MemoryDir => {
    refuseCwd(root)
    const { dir, source } = place({ root, git: 'none' }, mergeVariables(env, callerEnv), createLooks())
    return { dir, source }
  }

  return { locate, placeOf }
}

function keyOf(cwd: string, { CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES: _, ...deciding }: Variables): string {
  return JSON.stringify([cwd, deciding])
}

function refuseCwd(cwd: string): void {
  if (isAbsolute(cwd) && !cwd.includes('\0') && cwd.length <= LONGEST_PATH_BYTES) return
  throw new MemoryError('BAD_REQUEST', `cwd must be an absolute path, got ${JSON.stringify(cwd.slice(0, 200))}`, {
    hint: 'send the full path of the working directory',
  })
}
