/** Projects: the root of a working directory, its memory directory, and whether memory is on there. Creates no directory. */
import { existsSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Agent } from '../../schema/memory.ts'
import type { Paused, Status } from '../../schema/process.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { createLru } from '../platform/lru.ts'
import { shellWord } from '../platform/text.ts'
import {
  agentDirOf,
  chooseMemoryDir,
  configDirOf,
  decideSwitch,
  isMemoryPlace,
  type MemoryDir,
  mergeVariables,
  POLICY_FILE,
  readClaudeSettings,
  refuseLinked,
  type Variables,
} from './memory-dir.ts'
import {
  covers,
  createProbe,
  findProjectRoot,
  LONGEST_PATH_BYTES,
  type Probe,
  type ProjectRoot,
  privateFolder,
} from './paths.ts'

/** `off`: why memory is off there. */
export type Project = Readonly<MemoryDir & { root: string; off: string | undefined }>

export type ProjectFinder = {
  /** A directory that exists is known from then on, unless memory is off. */
  find(cwd: string, caller: Caller): Project
  forWriting(cwd: string, caller: Caller): Project
}

type UseListener = (dir: string, seen: 'new' | 'known') => void

const EVERYWHERE = '/'
const MOST_CACHED = 256
const LONGEST_KEY = 32_768

export type Projects = ReturnType<typeof createProjects>

export function createProjects(core: Core, policyFile = POLICY_FILE) {
  const { env, clock, settings, health, db } = core
  const { home } = core.places
  const directories = createDirectories(db.history)
  const pauses = createPauses(db.history)
  const changeListeners: (() => void)[] = []
  const useListeners: UseListener[] = []
  const cache = createLru<string, { located: Project; probe: Probe }>(MOST_CACHED)

  let { private: privatePaths } = settings.current()
  settings.onChange((next) => {
    const isSame = JSON.stringify(next.private) === JSON.stringify(privatePaths)
    privatePaths = next.private
    if (!isSame) for (const listener of changeListeners) listener()
  })

  const memoryDirAt = (project: ProjectRoot, variables: Variables, probe: Probe) => {
    const { root } = project
    const places = { project, configDir: configDirOf(variables, home), policyFile, searchPath: env.PATH }
    const found = readClaudeSettings(places, probe)
    const chosen = chooseMemoryDir({ root, home, variables, settings: found })
    refuseLinked(chosen, probe.resolve(chosen.dir), home)
    return { ...chosen, settings: found }
  }

  /** Does not know of pauses and private folders. */
  const locate = (cwd: string, caller: Caller): Project => {
    refuseRelative(cwd)
    const variables = mergeVariables(env, caller.env)
    const key = keyOf(cwd, variables)
    const known = cache.get(key)
    if (known?.probe.isUnchanged()) return known.located
    cache.delete(key)
    const probe = createProbe()
    const startedMs = clock.now()
    const project = findProjectRoot(cwd, probe)
    const { settings: found, ...chosen } = memoryDirAt(project, variables, probe)
    const decided = decideSwitch(variables, found)
    const off = decided.on ? undefined : decided.because
    const located = Object.freeze({ root: project.root, ...chosen, off })
    if (probe.isSettledAt(startedMs) && key.length <= LONGEST_KEY) cache.set(key, { located, probe })
    return located
  }

  const rootOf = (cwd: string) => findProjectRoot(cwd).root

  const offBecause = (cwd: string, root = rootOf(cwd)): string | undefined => {
    const secret = privateFolder(privatePaths, [cwd, root])
    if (secret !== undefined) return `${secret} is private`
    const cover = pauses.list().find((project) => covers(project, root))
    return cover === undefined ? undefined : `paused ${cover === EVERYWHERE ? 'everywhere' : `in ${cover}`}`
  }

  const finder = (agent?: Agent): ProjectFinder => {
    const look = (cwd: string, caller: Caller): Project => {
      const located = locate(cwd, caller)
      const { root, off = offBecause(cwd, root) } = located
      if (!agent) return off === located.off ? located : { ...located, off }
      return { ...located, off, dir: agentDirOf({ root, home, variables: mergeVariables(env, caller.env), ...agent }) }
    }
    const use = ({ dir, root }: Project): void => {
      const seen = directories.remember({ dir, root: agent?.scope === 'user' ? dir : root })
      for (const listener of useListeners) listener(dir, seen)
    }
    return {
      find: (cwd, caller) => {
        const project = look(cwd, caller)
        // A caller that reads may name any folder: one without memories is not recorded.
        if (project.off === undefined && existsSync(project.dir)) use(project)
        return project
      },
      forWriting: (cwd, caller) => {
        const project = look(cwd, caller)
        if (project.off !== undefined) throw memoryOff(project.root, project.off)
        use(project)
        return project
      },
    }
  }

  const paused = (): Paused => {
    const projects = pauses.list()
    return { all: projects.includes(EVERYWHERE), projects: projects.filter((project) => project !== EVERYWHERE) }
  }
  const pausesChanged = (): Paused => {
    for (const listener of changeListeners) listener()
    health.announce('paused')
    return paused()
  }

  return {
    ...finder(),
    ofAgent: (agent: Agent) => finder(agent),
    dirAt: (root: string, caller: Caller): string => {
      refuseRelative(root)
      return memoryDirAt({ root, git: 'none' }, mergeVariables(env, caller.env), createProbe()).dir
    },
    rootOf,
    offBecause,
    isPrivate: (cwd: string) => privateFolder(privatePaths, [cwd, rootOf(cwd)]) !== undefined,
    variables: (caller?: Caller) => mergeVariables(env, caller?.env),
    configDir: (caller?: Caller) => configDirOf(mergeVariables(env, caller?.env), home),
    /** Whether a known directory still is a place for memories: links change. */
    isMemoryDir: (dir: string) => isMemoryPlace(dir, home),
    directories,
    list: () => projectsIn(directories.list()),
    /** The project is at `toRoot` now: its pauses and its directory follow. Within the caller's transaction. */
    moved: (from: Directory, to: Directory): void => {
      pauses.move(from.root, to.root)
      directories.forget(from)
      directories.remember(to)
    },
    paused,
    pause: (cwd: string | undefined): Paused => {
      pauses.add(cwd === undefined ? EVERYWHERE : rootOf(cwd), clock.now())
      return pausesChanged()
    },
    resume: (cwd: string | undefined): Paused => {
      if (cwd === undefined) pauses.removeAll()
      else {
        const root = rootOf(cwd)
        const cover = pauses.list().find((project) => project !== root && covers(project, root))
        if (cover)
          throw new MemoryError(
            'CONFLICT',
            `${root} stays paused because ${cover === EVERYWHERE ? 'everything' : cover} is paused`,
            { hint: resuming(cover) },
          )
        pauses.remove(root)
      }
      return pausesChanged()
    },
    onChange: (listener: () => void) => void changeListeners.push(listener),
    onUse: (listener: UseListener) => void useListeners.push(listener),
  }
}

export function memoryOff(root: string, off: string): MemoryError {
  const [, cover] = /^paused (?:in )?(.*)$/s.exec(off) ?? []
  const hint = cover === undefined ? 'to have memory here, change that setting' : resuming(cover)
  return new MemoryError('MEMORY_OFF', `memory is off for ${root}: ${off}`, { hint })
}

/** Without a folder it would end the pauses of other projects, too. */
function resuming(cover: string): string {
  return /^\/./.test(cover) ? `run: memoryd resume --project ${shellWord(cover)}` : 'to end all pauses: memoryd resume'
}

function keyOf(cwd: string, { CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES: _, ...deciding }: Variables): string {
  return JSON.stringify([cwd, deciding])
}

function refuseRelative(cwd: string): void {
  if (isAbsolute(cwd) && !cwd.includes('\0') && cwd.length <= LONGEST_PATH_BYTES) return
  throw new MemoryError('BAD_REQUEST', `cwd must be an absolute path, got ${JSON.stringify(cwd.slice(0, 200))}`, {
    hint: 'send the full path of the working directory',
  })
}

function projectsIn(known: readonly Directory[]): Status['projects'] {
  const projects = known.filter(({ dir, root }) => dir !== root && !dir.startsWith(`${root}/`))
  return projects.map(({ dir, root }) => {
    const others = projects.filter((other) => other.dir === dir && other.root !== root && existsSync(other.root))
    const sharedWith = others.map((other) => other.root)
    return { root, memoryDir: dir, ...(sharedWith.length > 0 && { sharedWith }) }
  })
}

/** A memory directory and the project it belongs to; for a sub-agent's that serves every project, the directory itself. */
export type Directory = { dir: string; root: string }
export type Directories = ReturnType<typeof createDirectories>

/** Known memory directories, so that edits made while the daemon was not running are noticed. */
export function createDirectories(db: Db) {
  const insert = db.prepare('INSERT OR IGNORE INTO directories (dir, root) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM directories WHERE dir = ? AND root = ?')
  const list = db.prepare('SELECT dir, root FROM directories ORDER BY dir, root')
  const siblings = db
    .prepare('SELECT other.dir FROM directories own JOIN directories other USING (root) WHERE own.dir = ?')
    .pluck()
  const known = new Set((list.all() as Directory[]).map(({ dir, root }) => `${dir}\n${root}`))
  return {
    remember: ({ dir, root }: Directory): 'new' | 'known' => {
      // Asked for with every request; written only when it is new.
      if (known.has(`${dir}\n${root}`)) return 'known'
      insert.run(dir, root)
      known.add(`${dir}\n${root}`)
      return 'new'
    },
    list: () => list.all() as Directory[],
    dirs: () => [...new Set((list.all() as Directory[]).map(({ dir }) => dir))],
    ofSameProject: (dir: string) => [...new Set([dir, ...(siblings.all(dir) as string[])])],
    forget: ({ dir, root }: Directory): void => {
      known.delete(`${dir}\n${root}`)
      remove.run(dir, root)
    },
  }
}

export function createPauses(db: Db) {
  const add = db.prepare('INSERT OR IGNORE INTO pauses (project, at) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM pauses WHERE project = ?')
  const removeAll = db.prepare('DELETE FROM pauses')
  const list = db.prepare('SELECT project FROM pauses ORDER BY project').pluck()
  // A project within the project has moved along.
  const within = `project = @from OR substr(project, 1, length(@from) + 1) = @from || '/'`
  const copyWithin = db.prepare(
    `INSERT OR IGNORE INTO pauses (project, at)
       SELECT @to || substr(project, length(@from) + 1), at FROM pauses WHERE ${within}`,
  )
  const removeWithin = db.prepare(`DELETE FROM pauses WHERE ${within}`)
  return {
    add: (project: string, at: number) => void add.run(project, at),
    remove: (project: string) => void remove.run(project),
    removeAll: () => void removeAll.run(),
    list: () => list.all() as string[],
    move: (from: string, to: string): void => {
      copyWithin.run({ from, to })
      removeWithin.run({ from })
    },
  }
}
