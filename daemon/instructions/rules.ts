/** Decides whether a rule applies: its `paths:` against the files in question. Does no I/O. */
import { isAbsolute, join, relative, resolve } from 'node:path'
import { compileGlob, splitList } from '../platform/glob.ts'

export type Verdict = { applies: boolean; warning?: string }

/** Pattern length times path length, summed over a load: a repository decides how many patterns there are. */
const CAP_STEPS = 100_000_000
const CAP_GLOB_CHARACTERS = 1000

/** `roots`: the names of the project's root; files may be given under any of them, or relative to it. */
export function createRules({ roots, files }: { roots: string[]; files: readonly string[] }) {
  const names = files.map((file) => namesOf(file, roots))
  const length = files.reduce((sum, file) => sum + file.length, 0)
  let stepsLeft = CAP_STEPS

  const matches = (glob: string) => {
    const match = compileGlob(glob)
    return names.some((file) => (isAbsolute(glob) ? file.absolute : file.relative).some(match))
  }

  return {
    judge(paths: unknown): Verdict {
      if (paths === undefined || paths === null) return { applies: true }
      const globs = globsOf(paths)
      if (globs === undefined)
        return { applies: true, warning: '`paths` must be a glob or a list of globs; the rule applies everywhere' }
      if (globs.length === 0) return { applies: true }
      stepsLeft -= globs.reduce((sum, glob) => sum + glob.length, 0) * length
      if (stepsLeft < 0) return { applies: false, warning: 'its `paths` are too many to compare' }
      // Without files none applies: a session begins with no file in hand, and a rule for some files would weigh on all.
      return { applies: globs.some(matches) }
    },
  }
}

function globsOf(paths: unknown): string[] | undefined {
  const globs = typeof paths === 'string' ? splitList(paths) : paths
  if (!Array.isArray(globs)) return undefined
  if (!globs.every((glob) => typeof glob === 'string' && glob.length <= CAP_GLOB_CHARACTERS)) return undefined
  return globs.map(cleaned).filter((glob) => glob !== '')
}

/** `./src/` means all that is in `src`. */
function cleaned(glob: string): string {
  const bare = glob.trim().replace(/^(?:\.\/)+/, '')
  return bare.endsWith('/') ? `${bare}**` : bare
}

function namesOf(file: string, roots: string[]): { relative: string[]; absolute: string[] } {
  const absolute = resolve(roots[0] ?? '/', file)
  const below = roots.map((root) => relative(root, absolute)).filter((name) => name !== '..' && !name.startsWith('../'))
  return { relative: below, absolute: [absolute, ...below.flatMap((name) => roots.map((root) => join(root, name)))] }
}
