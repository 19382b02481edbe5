/**
 * Reads what git writes to tie worktrees, submodules and moved git folders together: `.git` files, `commondir`, `gitdir`,
 * `core.worktree`. A pointer counts only when its target points back: otherwise an unpacked archive with a made-up `.git`
 * could claim to be another project, read its memories and write into them.
 */
import { spawnSync } from 'node:child_process'
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
 * outside git the folder itself. Whatever `.git` holds, there is an answer.
 */

export type ProjectRoot = {
  root: string
  /** The `.git` that goes with the root. */
  git: GitEntry
}

/** Deeper than any real folder; without it a made-up path of thousands of levels would be stat'ed to the top each time. */
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

/** What a hostile repository could make git do costs at most this: it may have configured anything. */
const GIT_MS = 1_000
const GIT_BYTES = 67_108_864
/** Nothing of the caller's, no prompt, no lock, no fetch, and of the configuration only the repository's own. */
const GIT_ENV = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_LAZY_FETCH: '1',
}
/** Names that may fold to one with a leading dot begin with a dot or outside ASCII. */
const FOLDED_DOTS = [':(top).*', ':(top)[^ -~]*']

/**
 * Whether git tracks a path below the root, or a folder on the way to it: tracked as a link or a submodule, that decides what is at
 * the path. Unsure without git, with an index that git refuses, or after the deadline.
 */
export function trackingOf({ root, git }: ProjectRoot, path: string, searchPath: string | undefined, probe: Probe) {
  if (git === 'none') return 'untracked'
  if (git === 'broken' || probe.kind(join(git.gitDir, 'HEAD')) !== 'file') return 'unsure'
  const index = probe.kind(join(git.gitDir, 'index'))
  if (index !== 'file') return index === 'absent' ? 'untracked' : 'unsure'
  const listed = listFiles(root, git.gitDir, searchPath)
  const parts = folded(path).split('/')
  const wanted = new Set(parts.map((_part, at) => parts.slice(0, at + 1).join('/')))
  if (!listed) return 'unsure'
  return listed.some((name) => wanted.has(folded(name).replace(/\/$/, ''))) ? 'tracked' : 'untracked'
}

function listFiles(root: string, gitDir: string, searchPath: string | undefined): string[] | undefined {
  const run = (...options: string[]) =>
    spawnSync(
      'git',
      [
        ...[
          `--git-dir=${gitDir}`,
          `--work-tree=${root}`,
          '-c',
          'core.fsmonitor=false',
          '-c',
          'core.hooksPath=/dev/null',
        ],
        ...['ls-files', '-z', ...options, '--', ...FOLDED_DOTS],
      ],
      {
        cwd: root,
        env: { ...GIT_ENV, ...(searchPath !== undefined && { PATH: searchPath }) },
        stdio: ['ignore', 'pipe', 'ignore'],
        encoding: 'utf8',
        maxBuffer: GIT_BYTES,
        timeout: GIT_MS,
        killSignal: 'SIGKILL',
      },
    )
  // A git that does not know the option knows no sparse index either.
  const sparse = run('--sparse')
  const { status, stdout } = sparse.status === 129 ? run() : sparse
  return status === 0 ? stdout.split('\0') : undefined
}

/** As a file system that ignores case or invisible characters would compare: `.Claude` is checked out as `.claude` there. */
function folded(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
