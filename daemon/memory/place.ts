/** Where a caller's memories are, and whether memory is on there. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Directories } from '../store/directories.ts'

type Located = {
  root: string
  dir: string
  memory: { on: true } | { on: false; because: string }
  /** The files and folders that decided. */
  madeFrom: readonly string[]
}

export type Place = { root: string; dir: string; off: string | undefined; madeFrom: readonly string[] }

type Deps = {
  locate: (cwd: string, env: Caller['env']) => Located
  /** Why a person has switched memory off in this folder or its project, if so. */
  offBecause: (cwd: string, root: string) => string | undefined
  directories: Directories
  /** A directory that was never seen before is looked through once. */
  onNewDirectory: (dir: string) => void
}

export type Places = {
  find(cwd: string, caller: Caller): Place
  /** For writes: throws where memory is off. */
  forWriting(cwd: string, caller: Caller): Place
}

export function createPlaces({ locate, offBecause, directories, onNewDirectory }: Deps): Places {
  const find = (cwd: string, caller: Caller): Place => {
    const { root, dir, memory, madeFrom } = locate(cwd, caller.env)
    const off = memory.on ? offBecause(cwd, root) : memory.because
    if (off === undefined && directories.remember({ dir, root }) === 'new') onNewDirectory(dir)
    return { root, dir, off, madeFrom }
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
