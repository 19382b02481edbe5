/** Where instruction files may stand, and whether a rule among them applies to the files in question. Lists folders, reads no file. */
import { type Dirent, opendirSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { message } from '../platform/files.ts'
import { compileGlob, splitList } from '../platform/glob.ts'
import { type Bounds, isInside, locate } from './includes.ts'

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

  return (paths: unknown): Verdict => {
    if (paths === undefined || paths === null) return { applies: true }
    const globs = globsOf(paths)
    if (globs === undefined)
      return { applies: true, warning: '`paths` must be a glob or a list of globs; the rule applies everywhere' }
    if (globs.length === 0) return { applies: true }
    stepsLeft -= globs.reduce((sum, glob) => sum + glob.length, 0) * length
    if (stepsLeft < 0) return { applies: false, warning: 'its `paths` are too many to compare' }
    // Without files none applies: a session begins with no file in hand, and a rule for some files would weigh on all.
    return { applies: globs.some(matches) }
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

export type Kind = 'managed' | 'user' | 'project' | 'local'

export type Source = { kind: Kind; path: string; role: 'file' | 'rule' } | { kind: Kind; path: string; problem: string }

type Places = { cwd: string; root: string; claudeDir: string; managedFile: string; agentsMd: boolean }

/** Entries looked at in all rules folders together, and how deep they nest. */
const CAP_ENTRIES = 2000
const CAP_DEPTH = 16

/** Lowest priority first. */
export function findSources(places: Places, project: Bounds): Source[] {
  const listRules = createRulesLister()
  const folders = foldersBetween(places.root, places.cwd)
  const file = (kind: Kind, path: string): Source => ({ kind, path, role: 'file' })
  return [
    file('managed', places.managedFile),
    file('user', join(places.claudeDir, 'CLAUDE.md')),
    ...listRules('user', join(places.claudeDir, 'rules'), undefined),
    ...folders.flatMap((folder) => [
      // First: what is meant for every agent yields to what is meant for this one.
      ...(places.agentsMd ? [file('project', join(folder, 'AGENTS.md'))] : []),
      file('project', join(folder, 'CLAUDE.md')),
      file('project', join(folder, '.claude', 'CLAUDE.md')),
      ...listRules('project', join(folder, '.claude', 'rules'), project),
    ]),
    ...folders.map((folder) => file('local', join(folder, 'CLAUDE.local.md'))),
  ]
}

/** The root, and each folder on the way down to cwd; the root alone when cwd is elsewhere. */
function foldersBetween(root: string, cwd: string): string[] {
  if (!isInside([root], cwd)) return [root]
  const names = relative(root, cwd)
    .split(sep)
    .filter((name) => name !== '')
  return [root, ...names.map((_, last) => join(root, ...names.slice(0, last + 1)))]
}

function createRulesLister() {
  let entriesLeft = CAP_ENTRIES
  return (kind: Kind, top: string, bounds: Bounds | undefined): Source[] => {
    const rules: string[] = []
    const problems: Source[] = []
    const visited = new Set<string>()
    const list = (folder: string, depth: number) => {
      const found = locate(folder, bounds)
      if (found === undefined || entriesLeft === 0) return
      if ('refused' in found) return void problems.push({ kind, path: folder, problem: found.reason })
      if (visited.has(found.real)) return
      visited.add(found.real)
      const { entries, problem } = depth > CAP_DEPTH ? tooDeep : entriesOf(found.real, entriesLeft)
      entriesLeft -= entries.length
      if (problem) problems.push({ kind, path: folder, problem })
      for (const entry of entries) {
        const path = join(folder, entry.name)
        if (isFolder(entry, path)) list(path, depth + 1)
        else if (entry.name.endsWith('.md')) rules.push(path)
      }
    }
    list(top, 0)
    return [...rules.sort().map((path): Source => ({ kind, path, role: 'rule' })), ...problems]
  }
}

type Listing = { entries: Dirent[]; problem?: string }

const tooDeep: Listing = { entries: [], problem: `folders of rules nest more than ${CAP_DEPTH} deep` }

function entriesOf(folder: string, most: number): Listing {
  const entries: Dirent[] = []
  try {
    const handle = opendirSync(folder)
    try {
      for (let entry = handle.readSync(); entry; entry = handle.readSync()) {
        if (entries.length === most)
          return { entries, problem: `folders of rules hold more than ${CAP_ENTRIES} names; the rest is left out` }
        entries.push(entry)
      }
    } finally {
      handle.closeSync()
    }
    return { entries }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === 'ENOTDIR' ? { entries } : { entries, problem: `it cannot be read (${code ?? message(error)})` }
  }
}

function isFolder(entry: Dirent, path: string): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory()
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
