/** The whole of memory on a real store and a real directory, without a process around it. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Core } from '../../daemon/core.ts'
import { createPurges } from '../../daemon/housekeeping/purge.ts'
import { createMemory } from '../../daemon/memory/memory.ts'
import { printTopic } from '../../daemon/memory/topic-file.ts'
import { createNotesFile } from '../../daemon/notes/notes-file.ts'
import { slugOf } from '../../daemon/projects/memory-dir.ts'
import { createProjects, type Projects } from '../../daemon/projects/projects.ts'
import { type ManualTime, manualTime } from './clock.ts'
import { testCore } from './core.ts'
import { makeHome } from './home.ts'

export type Rig = Awaited<ReturnType<typeof memoryRig>>

export const person = { actor: 'user', env: {} }
export const agent = { actor: 'agent:api', env: {} }

export function topic(body: string, name = 'A thing'): string {
  return printTopic({ name, description: `What is known of ${name}`, type: 'project', body })
}

type Saved = { dir: string; files: string[]; actor: string }

type RigOptions = {
  review?: 'auto' | 'required'
  team?: boolean
  isPlace?: (dir: string) => boolean
  time?: ManualTime
}

/** `open` gives a fresh one over the same files, as a restart would; `openOver` one over a core with a fault. */
export async function memoryRig({ review = 'auto', team = false, isPlace, time = manualTime() }: RigOptions = {}) {
  const place = makeHome()
  const { dir: home } = place
  const { logFile } = place.places
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  const dirOf = (folder: string) => join(home, '.claude/projects', slugOf(folder), 'memory')
  const saved: Saved[] = []
  const openOver = (core: Core) => {
    const found = createProjects(core, join(home, 'policy.json'))
    const projects: Projects = isPlace ? { ...found, isMemoryDir: isPlace } : found
    const memory = createMemory(core, projects)
    const purges = createPurges(core, memory, createNotesFile(core))
    memory.onChange((dir, files, actor) => saved.push({ dir, files, actor }))
    return { memory, projects, purges, core, store: core.db, health: core.health }
  }
  const open = async () => {
    const settings = { review, team: { enabled: team } }
    const { core } = await testCore({ home: place, time, settings })
    return openOver(core)
  }
  const first = await open()
  return {
    ...first,
    open,
    openOver,
    home,
    state: place.places.stateDir,
    cwd,
    dir: dirOf(cwd),
    dirOf,
    time,
    /** What was logged as an error. */
    errors: () =>
      existsSync(logFile)
        ? readFileSync(logFile, 'utf8')
            .split('\n')
            .flatMap((line) => (line.includes('"level":50') ? [JSON.parse(line).msg] : []))
        : [],
    saved,
  }
}
