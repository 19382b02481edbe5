/**
 * Which project a folder belongs to: the main worktree's root, so that all worktrees of a repository share one memory;
 * outside git the folder itself. Runs no git. Whatever `.git` holds, there is an answer.
 */
import { dirname, resolve } from 'node:path'
import { type GitEntry, gitEntryAt, mainRootOf } from './git-dir.ts'
import { createLooks, LONGEST_PATH_BYTES, type Looks } from './looks.ts'

export type Project = {
  root: string
  /** The `.git` that goes with the root. */
  git: GitEntry
}

/** Deeper than anybody works; without it a made-up path of thousands of levels would be stat'ed to the top each time. */
const MOST_LEVELS = 256

export function findProjectRoot(cwd: string, looks: Looks = createLooks()): Project {
  // A relative path has no meaning here: the daemon's own working directory is not the caller's.
  const given = resolve('/', cwd)
  const start = looks.resolve(given) ?? given
  for (const folder of upwards(start)) {
    const git = gitEntryAt(folder, looks)
    if (git === 'none') continue
    if (git === 'broken') return { root: folder, git }
    return mainRootOf(folder, git, looks) ?? { root: folder, git }
  }
  return { root: start, git: 'none' }
}

function* upwards(start: string): Generator<string> {
  if (start.length > LONGEST_PATH_BYTES) return
  let folder = start
  for (let level = 0; level < MOST_LEVELS; level++) {
    yield folder
    const parent = dirname(folder)
    if (parent === folder) return
    folder = parent
  }
}
