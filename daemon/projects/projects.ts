/**
 * The one door of this folder: a working directory and the caller's variables → project, memory directory, on or off.
 * Answers are kept until something they were made from looks different.
 */
import { isAbsolute } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Paused, Status } from '../../schema/process.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import type { Db } from '../db/database.ts'
import { type Clock, createClock } from '../platform/clock.ts'
import { decideSwitch, type MemorySwitch, POLICY_FILE, readClaudeSettings } from './claude-settings.ts'
import { findProjectRoot, type Project } from './git.ts'
import {
  chooseMemoryDir,
  configDirOf,
  type MemoryDir,
  mergeVariables,
  refuseLinked,
  type Variables,
} from './memory-dir.ts'
import { covers, createLooks, LONGEST_PATH_BYTES, type Looks, privateFolder } from './paths.ts'

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

/** Which projects are off: paused, or private by the settings. */

export type Switches = {
  paused(): Paused
  /** Why a folder is off, if a person has switched it or its project off, or named it private. */
  because(cwd: string, root: string): string | undefined
  /** Without a folder: everywhere. */
  pause(cwd: string | undefined): Paused
  /** Without a folder: lifts every pause. */
  resume(cwd: string | undefined): Paused
}

const EVERYWHERE = '/'

type Deps = {
  pauses: Pauses
  clock: Clock
  /** A folder is paused as the project it belongs to. */
  rootOf: (cwd: string) => string
  /** Folders that the settings name private. */
  privatePaths: () => readonly string[]
  onChange: () => void
}

export function createSwitches({ pauses, clock, rootOf, privatePaths, onChange }: Deps): Switches {
  const paused = (): Paused => {
    const projects = pauses.list()
    return { all: projects.includes(EVERYWHERE), projects: projects.filter((project) => project !== EVERYWHERE) }
  }
  return {
    paused,
    because: (cwd, root) => {
      const secret = privateFolder(privatePaths(), [cwd, root])
      if (secret !== undefined) return `${secret} is private`
      const cover = pauses.list().find((project) => covers(project, root))
      return cover === undefined ? undefined : `paused ${cover === EVERYWHERE ? 'everywhere' : `in ${cover}`}`
    },
    pause: (cwd) => {
      pauses.add(cwd === undefined ? EVERYWHERE : rootOf(cwd), clock.now())
      onChange()
      return paused()
    },
    resume: (cwd) => {
      if (cwd === undefined) pauses.removeAll()
      else {
        const folder = rootOf(cwd)
        const cover = pauses.list().find((project) => project !== folder && covers(project, folder))
        if (cover)
          throw new MemoryError('CONFLICT', `${folder} stays paused: so is ${cover === '/' ? 'everything' : cover}`, {
            hint: cover === EVERYWHERE ? 'resume without a folder' : `resume ${cover} instead`,
          })
        pauses.remove(folder)
      }
      onChange()
      return paused()
    },
  }
}

/** Where capture and recall are switched off by a person. Survives restarts. */

export type Pauses = {
  add(project: string, at: number): void
  remove(project: string): void
  removeAll(): void
  list(): string[]
}

export function createPauses(db: Db): Pauses {
  const add = db.prepare('INSERT OR IGNORE INTO pauses (project, at) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM pauses WHERE project = ?')
  const removeAll = db.prepare('DELETE FROM pauses')
  const list = db.prepare('SELECT project FROM pauses ORDER BY project').pluck()
  return {
    add: (project, at) => void add.run(project, at),
    remove: (project) => void remove.run(project),
    removeAll: () => void removeAll.run(),
    list: () => list.all() as string[],
  }
}

/** Memory directories that were seen, so that edits made while the daemon was away are noticed. */

export type Directory = { dir: string; root: string }

export type Directories = {
  remember(directory: Directory): 'new' | 'known'
  list(): Directory[]
  /** All directories of the project that this one belongs to, this one included. */
  ofSameProject(dir: string): string[]
  /** Whoever comes this way again is news. */
  forget(directory: Directory): void
}

export function createDirectories(db: Db): Directories {
  const insert = db.prepare('INSERT OR IGNORE INTO directories (dir, root) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM directories WHERE dir = ? AND root = ?')
  const list = db.prepare('SELECT dir, root FROM directories ORDER BY dir, root')
  const siblings = db
    .prepare('SELECT other.dir FROM directories own JOIN directories other USING (root) WHERE own.dir = ?')
    .pluck()
  const known = new Set((list.all() as Directory[]).map(({ dir, root }) => `${dir}\n${root}`))
  return {
    remember: ({ dir, root }) => {
      // Asked for with every request; written only when it is news.
      if (known.has(`${dir}\n${root}`)) return 'known'
      insert.run(dir, root)
      known.add(`${dir}\n${root}`)
      return 'new'
    },
    ofSameProject: (dir) => [...new Set([dir, ...(siblings.all(dir) as string[])])],
    list: () => list.all() as Directory[],
    forget: ({ dir, root }) => {
      known.delete(`${dir}\n${root}`)
      remove.run(dir, root)
    },
  }
}

/** Which projects have memories, and which of them share a directory. Pure. */

/** `exists`: a project that is gone shares nothing with anybody. What lies within its root is a sub-agent's. */
export function projectsOf(known: readonly Directory[], exists: (path: string) => boolean): Status['projects'] {
  const projects = known.filter(({ dir, root }) => dir !== root && !dir.startsWith(`${root}/`))
  return projects.map(({ dir, root }) => {
    const others = projects.filter((other) => other.dir === dir && other.root !== root && exists(other.root))
    const sharedWith = others.map((other) => other.root)
    return { root, memoryDir: dir, ...(sharedWith.length > 0 && { sharedWith }) }
  })
}
