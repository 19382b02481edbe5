/** Notices memories that name what the project has no more: paths, scripts of its package, targets of its makefile. */
import { existsSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { readHead } from '../platform/files.ts'
import { parseJson } from '../platform/json.ts'

export type Mention = { kind: 'path' | 'script' | 'target'; name: string }

const MOST_MENTIONS = 50
const MOST_LISTED = 5
const MOST_CHARS = 64 * 1024
const MOST_FILE_BYTES = 1_000_000

/** `src/app.ts`, `./scripts/run.sh`: a slash, and a name that ends like a file. In backticks a folder will do. */
const CODE = /`([^`\n]{2,200})`/g
const BARE = /(?<![\w/.@:~-])(?:\.\/)?(?:[\w.@-]+\/)+[\w.@-]*\.[A-Za-z]{1,5}\b(?!\/)/g
const IN_CODE = /^(?:\.\/)?(?:[\w.@-]+\/)+[\w.@-]*$/
const SCRIPT = /\b(?:npm run|npm run-script|pnpm run|yarn run|bun run)\s+(?:-\S+\s+)*([A-Za-z][\w:.-]*)/g
const TARGET = /`make\s+([A-Za-z][\w.-]*)`/g
/** Looked for from the beginning of a word only: in the middle of a long one every letter would begin it again. */
const ADDRESS = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/\S+/gi

export function mentionsIn(text: string): Mention[] {
  const found = new Map<string, Mention>()
  const add = (kind: Mention['kind'], name: string) => {
    if (!name.startsWith('../')) found.set(`${kind} ${name}`, { kind, name })
  }
  // An address names no file of the project.
  const plain = text.slice(0, MOST_CHARS).replace(ADDRESS, ' ')
  for (const [, code = ''] of plain.matchAll(CODE)) {
    const [first = ''] = code.trim().split(/\s+/)
    if (IN_CODE.test(first) && !first.includes('...')) add('path', first)
  }
  for (const [path] of plain.matchAll(BARE)) add('path', path)
  for (const [, name = ''] of plain.matchAll(SCRIPT)) add('script', name.replace(/[.:]+$/, ''))
  for (const [, name = ''] of plain.matchAll(TARGET)) add('target', name)
  return [...found.values()].slice(0, MOST_MENTIONS)
}

export function driftOf(text: string, root: string): Mention[] {
  const mentions = existsSync(root) ? mentionsIn(text) : []
  const isNamed = (kind: Mention['kind']) => mentions.some((mention) => mention.kind === kind)
  const scripts = isNamed('script') ? scriptsOf(root) : undefined
  const targets = isNamed('target') ? targetsOf(root) : undefined
  return mentions.filter(({ kind, name }) => {
    if (kind === 'path') return isMissing(root, name)
    const known = kind === 'script' ? scripts : targets
    return known !== undefined && !known.has(name)
  })
}

export function driftIn(text: string, rootsOf: () => readonly string[]): string[] {
  if (mentionsIn(text).length === 0) return []
  const [first = [], ...others] = rootsOf().map((root) => driftOf(text, root).map(mentionText))
  return first.filter((each) => others.every((those) => those.includes(each))).slice(0, MOST_LISTED)
}

function isMissing(root: string, path: string): boolean {
  const within = normalize(path)
  // What leads out of the project says nothing about the memory.
  return !isAbsolute(within) && !within.startsWith('..') && !existsSync(join(root, within))
}

function scriptsOf(root: string): ReadonlySet<string> | undefined {
  const json = parseJson(readSmall(join(root, 'package.json')) ?? '') as { scripts?: unknown } | null | undefined
  if (json === null || json === undefined) return undefined
  const { scripts } = json
  return new Set(typeof scripts === 'object' && scripts !== null ? Object.keys(scripts) : [])
}

function targetsOf(root: string): ReadonlySet<string> | undefined {
  const text = ['GNUmakefile', 'makefile', 'Makefile'].map((name) => readSmall(join(root, name))).find(Boolean)
  if (text === undefined) return undefined
  // Line by line: a hostile file may be one long run of blanks.
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

function readSmall(path: string): string | undefined {
  const { head, sizeBytes = 0 } = readHead(path, MOST_FILE_BYTES) ?? {}
  return sizeBytes <= MOST_FILE_BYTES ? head?.toString() : undefined
}

export function mentionText({ kind, name }: Mention): string {
  return kind === 'path' ? name : kind === 'script' ? `npm run ${name}` : `make ${name}`
}
