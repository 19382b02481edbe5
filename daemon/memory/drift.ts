/**
 * Notices memories that name what the project does not have any more: paths, scripts of its package, targets of its
 * makefile. Only what can be looked up counts; what lies outside the project is not looked at.
 */
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'

export type Mention = { kind: 'path' | 'script' | 'target'; name: string }

/** What a project has. */
type ProjectFacts = ReturnType<typeof projectAt>

const MOST_MENTIONS = 50
const MOST_LISTED = 5
const MOST_CHARS = 64 * 1024
/** Of a file of the project. */
const MOST_FILE_BYTES = 1_000_000

/** `src/app.ts`, `./scripts/run.sh`: a slash, and a name that ends like a file. In backticks a folder will do. */
const CODE = /`([^`\n]{2,200})`/g
const BARE = /(?<![\w/.@:~-])(?:\.\/)?(?:[\w.@-]+\/)+[\w.@-]*\.[A-Za-z]{1,5}\b(?!\/)/g
const IN_CODE = /^(?:\.\/)?(?:[\w.@-]+\/)+[\w.@-]*$/
const SCRIPT = /\b(?:npm run|npm run-script|pnpm run|yarn run|bun run)\s+(?:-\S+\s+)*([A-Za-z][\w:.-]*)/g
const TARGET = /`make\s+([A-Za-z][\w.-]*)`/g
/** Looked for from the beginning of a word only: in the middle of a long one every letter would begin it again. */
const ADDRESS = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/\S+/gi

/** Everything in a text that could be looked up in a project, each once. */
export function mentionsIn(text: string): Mention[] {
  const found = new Map<string, Mention>()
  const add = (kind: Mention['kind'], name: string) => {
    if (!name.startsWith('../')) found.set(`${kind} ${name}`, { kind, name })
  }
  const given = text.slice(0, MOST_CHARS)
  // An address names no file of the project.
  const plain = given.replace(ADDRESS, ' ')
  for (const [, code = ''] of plain.matchAll(CODE)) {
    const [first = ''] = code.trim().split(/\s+/)
    if (IN_CODE.test(first) && !first.includes('...')) add('path', first)
  }
  for (const [path] of plain.matchAll(BARE)) add('path', path)
  for (const [, name = ''] of plain.matchAll(SCRIPT)) add('script', name.replace(/[.:]+$/, ''))
  for (const [, name = ''] of plain.matchAll(TARGET)) add('target', name)
  return [...found.values()].slice(0, MOST_MENTIONS)
}

/** What a text names and the project does not have. */
export function driftOf(text: string, project: ProjectFacts): Mention[] {
  return mentionsIn(text).filter(({ kind, name }) => {
    if (kind === 'path') return !project.hasPath(name)
    const known = kind === 'script' ? project.scripts() : project.targets()
    return known !== undefined && !known.has(name)
  })
}

/** What a text names and none of these projects has, in words; a few of it. */
export function driftIn(text: string, rootsOf: () => readonly string[]): string[] {
  if (mentionsIn(text).length === 0) return []
  const [first = [], ...others] = rootsOf().map((root) => driftOf(text, projectAt(root)).map(mentionText))
  return first.filter((each) => others.every((those) => those.includes(each))).slice(0, MOST_LISTED)
}

/** A project as it is on disk now; what was looked up once is not looked up again. */
export function projectAt(root: string) {
  const paths = new Map<string, boolean>()
  let scripts: ReadonlySet<string> | undefined | 'unread' = 'unread'
  let targets: ReadonlySet<string> | undefined | 'unread' = 'unread'
  const isHere = existsSync(root)
  return {
    hasPath: (path: string): boolean => {
      const within = normalize(path)
      // What leads out of it, and a project that is not there at all, say nothing about the memory.
      if (!isHere || isAbsolute(within) || within.startsWith('..')) return true
      const known = paths.get(within)
      if (known !== undefined) return known
      const has = existsSync(join(root, within))
      paths.set(within, has)
      return has
    },
    /** Nothing where there is no package. */
    scripts: () => {
      if (scripts === 'unread') scripts = scriptsOf(root)
      return scripts
    },
    targets: () => {
      if (targets === 'unread') targets = targetsOf(root)
      return targets
    },
  }
}

function scriptsOf(root: string): ReadonlySet<string> | undefined {
  const text = readSmall(join(root, 'package.json'))
  if (text === undefined) return undefined
  try {
    const { scripts } = JSON.parse(text) as { scripts?: unknown }
    return new Set(typeof scripts === 'object' && scripts !== null ? Object.keys(scripts) : [])
  } catch {
    return undefined
  }
}

function targetsOf(root: string): ReadonlySet<string> | undefined {
  const text = ['GNUmakefile', 'makefile', 'Makefile'].map((name) => readSmall(join(root, name))).find(Boolean)
  if (text === undefined) return undefined
  // Line by line: a file of a stranger may be one long run of blanks.
  const names = new Set<string>()
  for (const line of text.split('\n')) {
    if (/^ *[-s]?include\s/.test(line)) return undefined
    const colon = line.indexOf(':')
    if (colon < 0 || line[colon + 1] === '=' || /^[\t#]/.test(line)) continue
    // One that takes in others, or makes its targets by a rule, may have any.
    if (/[%$]/.test(line.slice(0, colon))) return undefined
    for (const name of line.slice(0, colon).split(' ')) if (/^[\w.-]+$/.test(name)) names.add(name)
  }
  return names
}

/** A name may lead to a device that never ends, or to a pipe without a writer. */
function readSmall(path: string): string | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(fd)
      return stats.isFile() && stats.size <= MOST_FILE_BYTES ? readFileSync(fd, 'utf8') : undefined
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined
  }
}

export function mentionText({ kind, name }: Mention): string {
  return kind === 'path' ? name : kind === 'script' ? `npm run ${name}` : `make ${name}`
}
