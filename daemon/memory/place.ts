/** Where a caller's memories are, and whether memory is on there. */
import { existsSync } from 'node:fs'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Directories } from '../projects/projects.ts'

type Located = {
  root: string
  dir: string
  memory: { on: true } | { on: false; because: string }
  /** The files and folders that decided. */
  madeFrom: readonly string[]
  /** What the directory belongs to, where that is not the project. */
  owner?: string
}

export type Place = Omit<Located, 'memory'> & { off: string | undefined }

type Deps = {
  locate: (cwd: string, env: Caller['env']) => Located
  /** Why a person has switched memory off in this folder or its project, if so. */
  offBecause: (cwd: string, root: string) => string | undefined
  directories: Directories
  /** Memory is on there, and somebody asks. */
  onUse: (dir: string, seen: 'new' | 'known') => void
}

export type Places = {
  find(cwd: string, caller: Caller): Place
  /** For writes: throws where memory is off. */
  forWriting(cwd: string, caller: Caller): Place
}

export function createPlaces({ locate, offBecause, directories, onUse }: Deps): Places {
  const look = (cwd: string, caller: Caller): Place => {
    const { memory, ...place } = locate(cwd, caller.env)
    return { ...place, off: memory.on ? offBecause(cwd, place.root) : memory.because }
  }
  const remember = ({ dir, root, owner = root }: Place): void => {
    onUse(dir, directories.remember({ dir, root: owner }))
  }
  const find = (cwd: string, caller: Caller): Place => {
    const place = look(cwd, caller)
    // A reader may name any folder: one without memories leaves no trace.
    if (place.off === undefined && existsSync(place.dir)) remember(place)
    return place
  }
  return {
    find,
    forWriting: (cwd, caller) => {
      const place = look(cwd, caller)
      if (place.off === undefined) {
        remember(place)
        return place
      }
      throw new MemoryError('MEMORY_OFF', `memory is off for ${place.root}: ${place.off}`, {
        hint: 'switch it on again, or resume',
      })
    },
  }
}
