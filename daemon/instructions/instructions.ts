/** Instruction files (CLAUDE.md and its kin) for a folder, lowest priority first. The memory index is the caller's to add. */
import { dirname, join, resolve } from 'node:path'
import { type FrontMatter, parseFrontMatter } from '../platform/front-matter.ts'
import {
  type Bounds,
  boundsOf,
  canonical,
  findMentions,
  isInside,
  isTextName,
  locate,
  type Mention,
  type Refusal,
  readText,
} from './includes.ts'
import { createRules, findSources, type Kind, type Source, type Verdict } from './rules.ts'

export type InstructionPlaces = {
  cwd: string
  /** The folder of the project that holds cwd; in a worktree, the worktree's. */
  root: string
  claudeDir: string
  managedFile: string
  home: string
  /** Whether `AGENTS.md` counts beside `CLAUDE.md`. */
  agentsMd: boolean
  /** Files in question, absolute or relative to the root: rules with `paths:` apply when one of them matches. */
  files?: readonly string[] | undefined
}

export const MANAGED_FILE = '/etc/claude-code/CLAUDE.md'

export function loadInstructions(places: InstructionPlaces): { items: Item[] } {
  const { home, claudeDir, managedFile, agentsMd, files = [] } = places
  const root = canonical(places.root)
  const project = boundsOf(places.root)
  const judge = createRules({ roots: [...new Set(project.named)], files })
  const loader = createLoader(home, project, boundsOf(home, claudeDir, dirname(managedFile)), judge)
  const sources = findSources({ cwd: canonical(places.cwd), root, claudeDir, managedFile, agentsMd }, project)
  for (const source of sources) loader.add(source)
  return { items: loader.items }
}

/** A file that could not be loaded has no content, and a warning that says why. */
export type Item = { kind: Kind; path: string; content: string; warning?: string }

const LONG_CHARACTERS = 40_000
const CAP_INCLUDE_DEPTH = 5

/** Of one load, since a repository decides how much there is: files, what is read of them, names that are looked up. */
const CAP_ITEMS = 200
const CAP_BYTES = 10_000_000
const CAP_MENTIONS = 2000
/** How much slower hostile front matter is to parse than text is to scan. */
const FRONT_MATTER_WEIGHT = 50

type File = { kind: Kind; path: string; real: string; role: 'file' | 'rule' | 'include'; depth: number }

/** Reads each file once, its includes before it. `own`: what the user's and the machine's own files may include. */
function createLoader(home: string, project: Bounds, own: Bounds, judge: ReturnType<typeof createRules>) {
  const items: Item[] = []
  const seen = new Set<string>()
  let bytesLeft = CAP_BYTES
  let mentionsLeft = CAP_MENTIONS
  /** Counts from when a file is begun: its includes come before it. */
  let begun = 0
  let full = false

  const isOfProject = (kind: Kind) => kind === 'project' || kind === 'local'

  const begin = ({ kind, path }: { kind: Kind; path: string }): boolean => {
    if (full) return false
    full = begun === CAP_ITEMS || bytesLeft < 0
    begun++
    if (full) {
      const limit =
        bytesLeft < 0 ? `${CAP_BYTES} bytes, front matter counted ${FRONT_MATTER_WEIGHT} times` : `${CAP_ITEMS} files`
      items.push({ kind, path, content: '', warning: `not loaded, nor what follows: instructions exceed ${limit}` })
    }
    return !full
  }

  const report = ({ kind, path }: { kind: Kind; path: string }, reason: string) => {
    if (begin({ kind, path })) items.push({ kind, path, content: '', warning: `not loaded: ${reason}` })
  }

  const load = (file: File) => {
    if (full || seen.has(file.real)) return
    if (bytesLeft < 0) return void begin(file)
    const read = readText(file.real)
    if ('refused' in read) {
      seen.add(file.real)
      if (file.role !== 'include' || isWorthSaying(read)) report(file, read.reason)
      return
    }
    bytesLeft -= read.bytes + frontMatterLength(read.text) * FRONT_MATTER_WEIGHT
    const plain: Omit<FrontMatter, 'raw'> = { data: {}, body: read.text }
    const { data, body, problem } = file.path.endsWith('.md') ? parseFrontMatter(read.text) : plain
    const verdict: Verdict = file.role === 'rule' ? judge(data.paths) : { applies: true }
    // Not seen: another file may still include it by name.
    if (!verdict.applies) return verdict.warning === undefined ? undefined : report(file, verdict.warning)
    seen.add(file.real)
    if (body.trim() === '' || !begin(file)) return
    const warnings = [problem, verdict.warning, lengthWarning(body), ...loadIncludes(file, body)]
    const warning = warnings.filter((text) => text !== undefined).join('; ')
    // Behind what it includes: later outranks earlier, and who includes a file may refine it.
    items.push({ kind: file.kind, path: file.path, content: body, ...(warning === '' ? {} : { warning }) })
  }

  const loadIncludes = (file: File, body: string): string[] => {
    // A file of the project gains no rights by being included from elsewhere.
    const bounds = isOfProject(file.kind) || isInside(project.real, file.real) ? project : own
    const mentions = findMentions(body)
    const looked = mentions.slice(0, mentionsLeft)
    mentionsLeft -= looked.length
    const outside: string[] = []
    let deeper = false
    for (const mention of looked) {
      const found = findInclude(mention, file, bounds)
      if (found === 'outside') outside.push(mention.written)
      else if (found === undefined || seen.has(found.real)) continue
      else if (file.depth === CAP_INCLUDE_DEPTH) deeper = true
      else load({ ...found, kind: file.kind, role: 'include', depth: file.depth + 1 })
    }
    return [
      ...(outside.length === 0 ? [] : [`not included, outside the allowed folders: ${shortList(outside)}`]),
      ...(deeper ? [`what it includes is left out: includes go ${CAP_INCLUDE_DEPTH} deep`] : []),
      ...(looked.length === mentions.length ? [] : [`only the first ${CAP_MENTIONS} includes are looked up`]),
    ]
  }

  /** The first of its names that leads to a file. Most mentions lead nowhere: they are people and packages. */
  const findInclude = (mention: Mention, file: File, bounds: Bounds) => {
    for (const name of mention.names) {
      const path = name.startsWith('~/') ? join(home, name.slice(2)) : resolve(dirname(file.path), name)
      if (!isTextName(path)) continue
      const found = locate(path, bounds)
      if (found === undefined) continue
      if ('real' in found) return isTextName(found.real) ? { path, real: found.real } : undefined
      return found.refused === 'outside' ? 'outside' : undefined
    }
    return undefined
  }

  return {
    add(source: Source) {
      if ('problem' in source) return report(source, source.problem)
      const found = locate(source.path, isOfProject(source.kind) ? project : undefined)
      if (found === undefined) return
      if ('refused' in found) report(source, found.reason)
      else if (isOfProject(source.kind) && !isTextName(found.real)) report(source, 'it leads to a file that is no text')
      else load({ ...source, real: found.real, depth: 0 })
    },
    items,
  }
}

function frontMatterLength(text: string): number {
  return text.startsWith('---') ? Math.max(0, text.slice(0, 100_000).indexOf('\n---')) : 0
}

function isWorthSaying({ refused }: Refusal): boolean {
  return refused === 'too-large' || refused === 'unreadable'
}

function lengthWarning(body: string): string | undefined {
  if (body.length <= LONG_CHARACTERS) return undefined
  return `it has ${body.length} characters, more than ${LONG_CHARACTERS}: move detail to files that are read when needed`
}

function shortList(names: string[]): string {
  const shown = names.slice(0, 3).map((name) => (name.length > 100 ? `${name.slice(0, 100)}…` : name))
  return shown.join(' ') + (names.length > 3 ? ` and ${names.length - 3} more` : '')
}
