/** The reading commands, done by ourselves on the files as the run sees them. Shapes output; decides no access. */
import type { Clock } from '../platform/clock.ts'
import { compileGlob } from '../platform/glob.ts'
import { type Command, isRecursive } from './command.ts'
import type { Facts } from './confined-file.ts'
import { type Denied, type Failed, isDenied, isFailed } from './denied.ts'
import type { Place } from './places.ts'
import { type Surroundings, search, tell } from './search.ts'
import type { FoundFile, Workspace } from './workspace.ts'

export type Located = { command: Command; places: Place[] }

type Said = string | Denied | Failed

const DAY_MS = 86_400_000

export async function runCommand({ command, places }: Located, at: Surroundings): Promise<Said> {
  const parts: string[] = []
  if (command.name === 'grep') return grep(command, places, at)
  for (const place of places) {
    const said = await one(command, place, at)
    if (typeof said !== 'string') return said
    const title = places.length > 1 && ['ls', 'head', 'tail'].includes(command.name) ? `==> ${place.asked} <==\n` : ''
    parts.push(title + said)
  }
  return parts.join('')
}

function one(command: Command, place: Place, at: Surroundings): Promise<Said> {
  switch (command.name) {
    case 'ls':
      return ls(command, place, at)
    case 'find':
      return find(command, place, at)
    case 'stat':
      return stat(place, at)
    default:
      return ofText(command, place, at)
  }
}

async function ofText({ name, options }: Command, place: Place, { workspace }: Surroundings): Promise<Said> {
  const seen = await workspace.read(place)
  if (isDenied(seen) || isFailed(seen)) return seen
  const lines = seen.text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const count = Number(options.get('n') ?? 10)
  const told = (some: string[]) => some.map((line) => `${line}\n`).join('')
  if (name === 'head') return told(lines.slice(0, count))
  if (name === 'tail') return told(count === 0 ? [] : lines.slice(-count))
  if (name === 'cat') {
    if (place.inMemory !== undefined && seen.hash !== undefined) workspace.shown(place.inMemory, 'whole', seen.hash)
    return options.has('n') ? told(lines.map((line, n) => `${n + 1}\t${line}`)) : seen.text
  }
  const words = seen.text.split(/\s+/).filter(Boolean).length
  const counts = { l: lines.length, w: words, c: Buffer.byteLength(seen.text), m: [...seen.text].length }
  const wanted = (Object.keys(counts) as (keyof typeof counts)[]).filter((key) =>
    options.size === 0 ? key !== 'm' : options.has(key),
  )
  return `${wanted.map((key) => counts[key]).join(' ')} ${place.asked}\n`
}

async function stat(place: Place, { workspace }: Surroundings): Promise<Said> {
  const facts = await workspace.facts(place)
  if (isDenied(facts) || isFailed(facts)) return facts
  return `${place.asked}: ${facts.kind}, ${facts.bytes} bytes, modified ${dated(facts)}\n`
}

async function ls({ options }: Command, place: Place, { workspace }: Surroundings): Promise<Said> {
  const facts = await workspace.facts(place)
  const isFile = !isDenied(facts) && !isFailed(facts) && facts.kind !== 'folder'
  if (isFile || options.has('d'))
    return isDenied(facts) || isFailed(facts) ? facts : `${lsLine(place.asked, facts, options)}\n`
  if (options.has('R')) {
    const found = await workspace.walk(place)
    return isDenied(found) || isFailed(found)
      ? found
      : [...found.folders, ...found.files].map(({ within }) => `${within}\n`).join('')
  }
  const entries = await workspace.list(place)
  if (isDenied(entries) || isFailed(entries)) return entries
  const rows: { name: string; facts: Facts }[] = []
  for (const { name } of entries) {
    if (name.startsWith('.') && !options.has('a') && !options.has('A')) continue
    const inside = workspace.below(place, name)
    const of = isDenied(inside) ? undefined : await workspace.facts(inside)
    rows.push({ name, facts: !of || isDenied(of) || isFailed(of) ? { kind: 'other', bytes: 0, modifiedMs: 0 } : of })
  }
  if (options.has('t')) rows.sort((a, b) => b.facts.modifiedMs - a.facts.modifiedMs)
  if (options.has('S')) rows.sort((a, b) => b.facts.bytes - a.facts.bytes)
  if (options.has('r')) rows.reverse()
  return rows.map((row) => `${lsLine(row.name, row.facts, options)}\n`).join('')
}

function lsLine(name: string, facts: Facts, options: Command['options']): string {
  const shown = facts.kind === 'folder' ? `${name}/` : name
  return options.has('l') ? `${dated(facts)} ${String(facts.bytes).padStart(9)} ${shown}` : shown
}

/** What only the run itself has written has no time yet. */
function dated({ modifiedMs }: Facts): string {
  return modifiedMs === 0 ? 'in this run' : new Date(modifiedMs).toISOString().replace(/\.\d+/, '')
}

async function find({ options }: Command, place: Place, { workspace, clock }: Surroundings): Promise<Said> {
  const found = await workspace.walk(place, Number(options.get('maxdepth') ?? 20) || 1)
  if (isDenied(found) || isFailed(found)) return found
  const type = options.get('type')
  const rows = [...(type === 'f' ? [] : found.folders), ...(type === 'd' ? [] : found.files)]
  const kept: string[] = []
  for (const row of rows) if (await passes(row, options, { workspace, clock, place })) kept.push(row.path)
  return `${kept.map((path) => `${path}\n`).join('')}${found.cut ? '(there is more than was looked through)\n' : ''}`
}

async function passes(
  { path, within }: FoundFile,
  options: Command['options'],
  { workspace, clock, place }: { workspace: Workspace; clock: Clock; place: Place },
): Promise<boolean> {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const globbed = (key: string, text: string) => {
    const glob = options.get(key)
    return glob === undefined || compileGlob(glob)(text)
  }
  const depth = within.split('/').length
  if (depth < Number(options.get('mindepth') ?? 0) || options.get('maxdepth') === '0') return false
  if (!globbed('name', name) || !globbed('path', path)) return false
  const anyCase = options.get('iname')
  if (anyCase !== undefined && !compileGlob(anyCase.toLowerCase())(name.toLowerCase())) return false
  const days = options.get('mtime')
  if (days === undefined) return true
  const inside = workspace.below(place, within)
  const facts = isDenied(inside) ? inside : await workspace.facts(inside)
  if (isDenied(facts) || isFailed(facts)) return false
  const age = Math.floor((clock.now() - facts.modifiedMs) / DAY_MS)
  const wanted = Math.abs(Number(days))
  return days.startsWith('+') ? age > wanted : days.startsWith('-') ? age < wanted : age === wanted
}

async function grep(command: Command, places: Place[], at: Surroundings): Promise<Said> {
  const { options, pattern = '' } = command
  const form = options.has('F') ? 'fixed' : options.has('E') ? 'extended' : 'basic'
  const [ignoreCase, invert, word] = [options.has('i'), options.has('v'), options.has('w')]
  const include = options.get('include')
  if (!isRecursive(command))
    for (const place of places) {
      const facts = await at.workspace.facts(place)
      if (isDenied(facts) || isFailed(facts)) return facts
      if (facts.kind === 'folder') return { failed: `${place.asked} is a folder; use grep -r` }
    }
  const found = await search(places, { pattern, form, ignoreCase, invert, word }, { ...at, glob: include })
  if (isDenied(found) || isFailed(found)) return found
  const matches = found.matches.slice(0, Number(options.get('m') ?? found.matches.length))
  const mode = options.has('l') ? 'files' : options.has('c') ? 'count' : 'lines'
  const named = (isRecursive(command) || places.length > 1 || options.has('H')) && !options.has('h')
  return tell(matches, { mode, named, numbered: options.has('n') }) + (found.cut ? '(there is more)\n' : '')
}
