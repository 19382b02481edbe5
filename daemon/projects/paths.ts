/** Hostile paths: what is at them, where they lead, and which project they belong to. Bounded, never blocking, never throwing. */
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, normalize, resolve, sep } from 'node:path'
import { readUpTo } from '../platform/safe-folder.ts'

/** `unreachable`: behind a closed folder, a loop of links or a name too long. */
type Kind = 'file' | 'folder' | 'other' | 'absent' | 'unreachable'

/** FAT has stamps of two seconds: a second write within them can leave the stamp as it was. */
const STAMP_STEP_MS = 2_000
/** As in Linux. */
const MOST_LINKS = 40
export const LONGEST_PATH_BYTES = 4_096

export type Probe = ReturnType<typeof createProbe>

/** Remembers what it saw: an answer made from it holds while `isUnchanged`. */
export function createProbe() {
  const stamps = new Map<string, Stamp>()
  const targets = new Map<string, string | undefined>()
  let newestMs = 0

  // The stamp is taken before the content, so that the next look sees a change in between.
  const stampAt = (path: string): Stamp => {
    const stamp = stamps.get(path) ?? stampOf(path)
    stamps.set(path, stamp)
    newestMs = Math.max(newestMs, stamp.ctimeMs)
    return stamp
  }

  return {
    kind: (path: string): Kind => stampAt(path).kind,
    read: (path: string, capBytes: number): { bytes: Buffer; uid: number } | undefined => {
      const stamp = stampAt(path)
      if (stamp.kind !== 'file' || stamp.size > capBytes) return undefined
      return readWhole(path, capBytes)
    },
    /** `path` with every link followed, also where its end does not exist yet; nothing when that cannot be told. */
    resolve: (path: string): string | undefined => {
      if (!targets.has(path)) targets.set(path, followLinks(path))
      return targets.get(path)
    },
    isUnchanged: (): boolean =>
      [...stamps].every(([path, stamp]) => isSame(stamp, stampOf(path))) &&
      [...targets].every(([path, target]) => target === followLinks(path)),
    /** Whether a change after `nowMs`, the moment before the first look, is sure to show in a later one. */
    isSettledAt: (nowMs: number): boolean => nowMs - newestMs >= STAMP_STEP_MS,
  }
}

type Stamp = { kind: Kind; ino?: number; size: number; mtimeMs?: number; ctimeMs: number }

function isSame(a: Stamp, b: Stamp): boolean {
  return a.kind === b.kind && a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs
}

function stampOf(path: string): Stamp {
  const nothing = { size: 0, ctimeMs: 0 }
  try {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats) return { kind: 'absent', ...nothing }
    const { ino, size, mtimeMs, ctimeMs } = stats
    if (stats.isFile()) return { kind: 'file', ino, size, mtimeMs, ctimeMs }
    // Every commit changes the times of `.git`; the files in it that count have stamps of their own.
    return { kind: stats.isDirectory() ? 'folder' : 'other', ino, ...nothing }
  } catch {
    return { kind: 'unreachable', ...nothing }
  }
}

function readWhole(path: string, capBytes: number): { bytes: Buffer; uid: number } | undefined {
  let fd: number | undefined
  try {
    // It may be a pipe by now: do not wait for its writer.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    const stats = fstatSync(fd)
    if (!stats.isFile()) return undefined
    const bytes = readUpTo(fd, stats.size, capBytes)
    return bytes && { bytes, uid: stats.uid }
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** The system resolves what exists. Behind that there may be links to what does not exist yet. */
function followLinks(path: string): string | undefined {
  if (path.length > LONGEST_PATH_BYTES) return undefined
  try {
    let there = path
    const steps: string[] = []
    while (!existsSync(there) && there !== '/') {
      steps.push(basename(there))
      there = dirname(there)
    }
    let place = realpathSync.native(there)
    let links = 0
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const next = join(place, step)
      const link = lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(next) : undefined
      if (link === undefined) place = next
      else if (++links > MOST_LINKS) return undefined
      else {
        if (isAbsolute(link)) place = '/'
        steps.push(...link.split('/').filter(Boolean).reverse())
      }
    }
    return place
  } catch {
    return undefined
  }
}

/** The private folder that covers one of these, by any links. */
export function privateFolder(named: readonly string[], folders: readonly string[]): string | undefined {
  if (named.length === 0) return undefined
  const places = folders.flatMap(waysTo)
  return named.find((secret) => waysTo(secret).some((from) => places.some((place) => covers(from, place))))
}

export function covers(folder: string, place: string): boolean {
  return folder === sep || place === folder || place.startsWith(folder + sep)
}

function waysTo(path: string): string[] {
  const written = normalize(path).replace(/(.)\/+$/, '$1')
  try {
    return [written, realpathSync(written)]
  } catch {
    return [written]
  }
}

/** `broken`: there is a `.git`, so this is a root, but what it names is not there. */
type GitEntry = 'none' | 'broken' | { gitDir: string }

const POINTER_CAP_BYTES = 8_192
const CONFIG_CAP_BYTES = 262_144

function gitEntryAt(folder: string, probe: Probe): GitEntry {
  const path = join(folder, '.git')
  const kind = probe.kind(path)
  if (kind !== 'file' && kind !== 'folder') return 'none'
  const target = kind === 'folder' ? path : pointerIn(path, folder, /^gitdir: (.+)$/s, probe)
  const gitDir = target === undefined ? undefined : probe.resolve(target)
  return gitDir !== undefined && probe.kind(gitDir) === 'folder' ? { gitDir } : 'broken'
}

/**
 * For a linked worktree the main one's root; nothing for any other checkout, submodules included. A pointer counts only when its
 * target points back: an unpacked archive with a made-up `.git` must not pass for another project and reach its memories.
 */
function mainRootOf(folder: string, { gitDir }: { gitDir: string }, probe: Probe): ProjectRoot | undefined {
  const common = pointerIn(join(gitDir, 'commondir'), gitDir, /^(.+)$/s, probe)
  const commonDir = common === undefined ? undefined : probe.resolve(common)
  if (commonDir === undefined || dirname(gitDir) !== join(commonDir, 'worktrees')) return undefined
  const back = pointerIn(join(gitDir, 'gitdir'), gitDir, /^(.+)$/s, probe)
  if (back === undefined || probe.resolve(back) !== probe.resolve(join(folder, '.git'))) return undefined
  return { root: rootOf(commonDir, probe), git: { gitDir: commonDir } }
}

/** A bare repository has no main worktree: its own folder is what its worktrees share. */
function rootOf(commonDir: string, probe: Probe): string {
  if (basename(commonDir) === '.git') return dirname(commonDir)
  return configuredRootOf(commonDir, probe) ?? commonDir
}

/** The git folder of a submodule names its checkout in its configuration. */
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

/** Without escapes and includes: a path misread here does not point back and is dropped. */
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

export type ProjectRoot = { root: string; git: GitEntry }

/** A made-up path of thousands of levels would be stat'ed to the top each time. */
const MOST_LEVELS = 256

/** The main worktree's root, so that all worktrees of a repository share one memory; outside git the folder itself. */
export function findProjectRoot(cwd: string, probe: Probe = createProbe()): ProjectRoot {
  // The daemon's own working directory is not the caller's.
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

/** Limits for a hostile repository, which may have configured anything. */
const GIT_MS = 1_000
const GIT_BYTES = 67_108_864
const GIT_ENV = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_LAZY_FETCH: '1',
}
/** Names that may fold to one with a leading dot begin with a dot or outside ASCII. */
const FOLDED_DOTS = [':(top).*', ':(top)[^ -~]*']

/** Whether git tracks a path below the root, or a folder on the way to it, which may be tracked as a link or a submodule. */
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
        ...[`--git-dir=${gitDir}`, `--work-tree=${root}`],
        ...['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'],
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

/** As file systems compare that ignore case or invisible characters: there `.Claude` is checked out as `.claude`. */
function folded(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
