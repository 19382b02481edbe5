/**
 * Reads what git writes to tie worktrees, submodules and moved git folders together: `.git` files, `commondir`, `gitdir`,
 * `core.worktree`. A pointer counts only when its target points back: otherwise an unpacked archive with a made-up `.git`
 * could claim to be another project, read its memories and write into them.
 */
import { basename, dirname, join, resolve } from 'node:path'
import { createProbe, LONGEST_PATH_BYTES, type Probe } from './paths.ts'

/** `broken`: there is a `.git`, so this is a root, but what it names is not there. */
export type GitEntry = 'none' | 'broken' | { gitDir: string }

/** Such a file holds one path. */
const POINTER_CAP_BYTES = 8_192
const CONFIG_CAP_BYTES = 262_144

export function gitEntryAt(folder: string, probe: Probe): GitEntry {
  const path = join(folder, '.git')
  const kind = probe.kind(path)
  if (kind !== 'file' && kind !== 'folder') return 'none'
  const target = kind === 'folder' ? path : pointerIn(path, folder, /^gitdir: (.+)$/s, probe)
  const gitDir = target === undefined ? undefined : probe.resolve(target)
  return gitDir !== undefined && probe.kind(gitDir) === 'folder' ? { gitDir } : 'broken'
}

/** For a linked worktree the main one's root; nothing for any other checkout, submodules included. */
export function mainRootOf(
  folder: string,
  { gitDir }: { gitDir: string },
  probe: Probe,
): { root: string; git: { gitDir: string } } | undefined {
  const common = pointerIn(join(gitDir, 'commondir'), gitDir, /^(.+)$/s, probe)
  const commonDir = common === undefined ? undefined : probe.resolve(common)
  if (commonDir === undefined || dirname(gitDir) !== join(commonDir, 'worktrees')) return undefined
  const back = pointerIn(join(gitDir, 'gitdir'), gitDir, /^(.+)$/s, probe)
  if (back === undefined || probe.resolve(back) !== probe.resolve(join(folder, '.git'))) return undefined
  return { root: rootOf(commonDir, probe), git: { gitDir: commonDir } }
}

/** A bare repository has no main worktree; its own folder is the one thing that all its worktrees share. */
function rootOf(commonDir: string, probe: Probe): string {
  if (basename(commonDir) === '.git') return dirname(commonDir)
  return configuredRootOf(commonDir, probe) ?? commonDir
}

/** A submodule's git folder lies in that of the repository around it and names its checkout in the configuration. */
function configuredRootOf(commonDir: string, probe: Probe): string | undefined {
  for (const name of ['config.worktree', 'config']) {
    const text = probe.read(join(commonDir, name), CONFIG_CAP_BYTES)?.bytes.toString()
    const worktree = text === undefined ? undefined : coreWorktreeIn(text)
    const root = worktree === undefined ? undefined : probe.resolve(resolve(commonDir, worktree))
    if (root === undefined) continue
    const git = gitEntryAt(root, probe)
    if (typeof git === 'object' && git.gitDir === commonDir) return root
  }
  return undefined
}

/** Escapes and includes are not understood: a path misread here does not point back and is dropped. */
function coreWorktreeIn(config: string): string | undefined {
  let section = ''
  let worktree: string | undefined
  for (const line of config.split('\n')) {
    section = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1]?.toLowerCase() ?? section
    if (section === 'core') worktree = /^\s*worktree\s*=\s*"?(.*?)"?\s*$/i.exec(line)?.[1] ?? worktree
  }
  return worktree || undefined
}

function pointerIn(file: string, base: string, form: RegExp, probe: Probe): string | undefined {
  const text = probe
    .read(file, POINTER_CAP_BYTES)
    ?.bytes.toString()
    .replace(/[\r\n]+$/, '')
  const path = text === undefined ? undefined : form.exec(text)?.[1]
  return path === undefined || path.includes('\0') ? undefined : resolve(base, path)
}

/**
 * Which project a folder belongs to: the main worktree's root, so that all worktrees of a repository share one memory;
 * outside git the folder itself. Runs no git. Whatever `.git` holds, there is an answer.
 */

export type ProjectRoot = {
  root: string
  /** The `.git` that goes with the root. */
  git: GitEntry
}

/** Deeper than anybody works; without it a made-up path of thousands of levels would be stat'ed to the top each time. */
const MOST_LEVELS = 256

export function findProjectRoot(cwd: string, probe: Probe = createProbe()): ProjectRoot {
  // A relative path has no meaning here: the daemon's own working directory is not the caller's.
  const given = resolve('/', cwd)
  const start = probe.resolve(given) ?? given
  for (const folder of upwards(start)) {
    const git = gitEntryAt(folder, probe)
    if (git === 'none') continue
    if (git === 'broken') return { root: folder, git }
    return mainRootOf(folder, git, probe) ?? { root: folder, git }
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
