/** Which projects are off: paused, or private by the settings. */
import { MemoryError } from '../../schema/errors.ts'
import type { Paused } from '../../schema/switches.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pauses } from './pause-table.ts'
import { covers, privateFolder } from './private.ts'

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
