/** Pause and resume: which folders are off. */
import { realpathSync } from 'node:fs'
import { normalize, sep } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Paused } from '../../schema/switches.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pauses } from '../store/pauses.ts'

export type Switches = {
  paused(): Paused
  /** Without a folder: everywhere. */
  pause(cwd: string | undefined): Paused
  /** Without a folder: lifts every pause. */
  resume(cwd: string | undefined): Paused
}

const EVERYWHERE = '/'

type Deps = { pauses: Pauses; clock: Clock; onChange: () => void }

export function createSwitches({ pauses, clock, onChange }: Deps): Switches {
  const paused = (): Paused => {
    const projects = pauses.list()
    return { all: projects.includes(EVERYWHERE), projects: projects.filter((project) => project !== EVERYWHERE) }
  }
  return {
    paused,
    pause: (cwd) => {
      pauses.add(cwd === undefined ? EVERYWHERE : canonical(cwd), clock.now())
      onChange()
      return paused()
    },
    resume: (cwd) => {
      if (cwd === undefined) pauses.removeAll()
      else {
        const folder = canonical(cwd)
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

function covers(project: string, folder: string): boolean {
  return project === EVERYWHERE || folder === project || folder.startsWith(project + sep)
}

/** One folder, one name: links are followed; a folder that is gone keeps the name it was given. */
function canonical(cwd: string): string {
  try {
    return realpathSync(cwd)
  } catch {
    return normalize(cwd).replace(/(.)\/+$/, '$1')
  }
}
