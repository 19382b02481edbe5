/** Where a caller's memories are, and whether memory is on there. */
import { existsSync } from 'node:fs'
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
  /** A directory that was never seen before is looked through once. */
  onNewDirectory: (dir: string) => void
}

export type Places = {
  find(cwd: string, caller: Caller): Place
  /** For writes: throws where memory is off. */
  forWriting(cwd: string, caller: Caller): Place
}

export function createPlaces({ locate, pausedBecause, directories, onNewDirectory }: Deps): Places {
  const look = (cwd: string, caller: Caller): Place => {
    const { root, dir, memory } = locate(cwd, caller.env)
    return { root, dir, off: memory.on ? pausedBecause(root) : memory.because }
  }
  const remember = ({ dir, root }: Place): void => {
    if (directories.remember({ dir, root }) === 'new') onNewDirectory(dir)
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
