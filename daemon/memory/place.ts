/** Where a caller's memories are, and whether memory is on there. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Directories } from '../store/directories.ts'

type Located = { root: string; dir: string; memory: { on: true } | { on: false; because: string } }

export type Place = { root: string; dir: string; off: string | undefined }

type Deps = {
  locate: (cwd: string, env: Caller['env']) => Located
  /** Why a person has switched memory off in this project, if so. */
  pausedBecause: (root: string) => string | undefined
  directories: Directories
  /** Memory is on there, and somebody asks. */
  onUse: (dir: string, seen: 'new' | 'known') => void
}

export type Places = {
  find(cwd: string, caller: Caller): Place
  /** For writes: throws where memory is off. */
  forWriting(cwd: string, caller: Caller): Place
}

export function createPlaces({ locate, pausedBecause, directories, onUse }: Deps): Places {
  const find = (cwd: string, caller: Caller): Place => {
    const { root, dir, memory } = locate(cwd, caller.env)
    const off = memory.on ? pausedBecause(root) : memory.because
    if (off === undefined) onUse(dir, directories.remember({ dir, root }))
    return { root, dir, off }
  }
  return {
    find,
    forWriting: (cwd, caller) => {
      const place = find(cwd, caller)
      if (place.off === undefined) return place
      throw new MemoryError('MEMORY_OFF', `memory is off for ${place.root}: ${place.off}`, {
        hint: 'switch it on again, or resume',
      })
    },
  }
}
