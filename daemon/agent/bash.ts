/** The reading commands, done by ourselves on the files as the run sees them. Shapes output; decides no access. */
import { type Command, isRecursive } from './command-line.ts'
import { type Fits, formatMatches, namePattern, search, type ToolContext } from './grep.ts'
import type { Place } from './permissions.ts'
import {
  type Answer,
  answer,
  CAP_MADE_CHARS,
  countCharacters,
  countNewlines,
  countWords,
  firstLines,
  isRefused,
  joined,
  lastLines,
  numberedLines,
  type Refused,
} from './tools.ts'
import { CAP_ENTRIES, type Facts, type FoundFile } from './working-copy.ts'

type Output = Promise<Answer | Refused>

const DAY_MS = 86_400_000
const CAP_LINES = 1_000

export async function runCommand(command: Command, places: readonly Place[], at: ToolContext): Output {
  const parts: Answer[] = []
  if (command.name === 'grep') return grep(command, places, at)
  let chars = 0
  for (const place of places) {
    const output = (await at.pace()) ?? (await one(command, place, at))
    if (isRefused(output)) return output
    const title = places.length > 1 && ['ls', 'head', 'tail'].includes(command.name) ? `==> ${place.asked} <==\n` : ''
    parts.push(answer(title), { ...output, text: output.text.slice(0, CAP_MADE_CHARS) })
    chars += output.text.length
    if (chars > CAP_MADE_CHARS) break
  }
  return joined(parts)
}

async function one(command: Command, place: Place, at: ToolContext): Output {
  if (command.name === 'ls') return ls(command, place, at)
  if (command.name === 'find') return find(command, place, at)
  return command.name === 'stat' ? stat(place, at) : ofText(command, place, at)
}

async function ofText({ name, options }: Command, place: Place, { copy, clean }: ToolContext): Output {
  const seen = copy.read(place)
  if (isRefused(seen)) return seen
  if (name === 'wc') return answer(counted(seen.text, options, place))
  const text = await clean.whole(seen.text)
  const count = Number(options.get('n') ?? 10)
  if (name === 'head') return answer(firstLines(text, count))
  if (name === 'tail') return answer(lastLines(text, count))
  const shown = options.has('n') ? numberedLines(text, CAP_MADE_CHARS) : text
  if (place.inMemory === undefined || seen.hash === undefined) return answer(shown)
  return answer(shown, [{ file: place.inMemory, hash: seen.hash, start: 0, end: shown.length, whole: true }])
}

function counted(text: string, options: Command['options'], place: Place): string {
  const lines = countNewlines(text) + (text === '' || text.endsWith('\n') ? 0 : 1)
  const counts = { l: lines, w: countWords(text), c: Buffer.byteLength(text), m: countCharacters(text) }
  const wanted = (Object.keys(counts) as (keyof typeof counts)[]).filter((key) =>
    options.size === 0 ? key !== 'm' : options.has(key),
  )
  return `${wanted.map((key) => counts[key]).join(' ')} ${place.asked}\n`
}

function stat(place: Place, { copy }: ToolContext): Answer | Refused {
  const facts = copy.facts(place)
  if (isRefused(facts)) return facts
  return answer(`${place.asked}: ${facts.kind}, ${facts.bytes} bytes, modified ${dated(facts)}\n`)
}

async function ls({ options }: Command, place: Place, { copy, pace }: ToolContext): Output {
  const facts = copy.facts(place)
  const isFile = !isRefused(facts) && facts.kind !== 'folder'
  if (isFile || options.has('d')) return isRefused(facts) ? facts : answer(`${lsLine(place.asked, facts, options)}\n`)
  if (options.has('R')) {
    const found = await copy.walk(place, pace)
    return isRefused(found)
      ? found
      : answer([...found.folders, ...found.files].map(({ within }) => `${within}\n`).join(''))
  }
  const entries = copy.list(place)
  if (isRefused(entries)) return entries
  const rows: { name: string; facts: Facts }[] = []
  for (const { name } of entries) {
    if (name.startsWith('.') && !options.has('a') && !options.has('A')) continue
    const late = await pace()
    if (late) return late
    const inside = copy.below(place, name)
    const of = isRefused(inside) ? undefined : copy.facts(inside)
    rows.push({ name, facts: !of || isRefused(of) ? { kind: 'other', bytes: 0, modifiedMs: 0 } : of })
  }
  if (options.has('t')) rows.sort((a, b) => b.facts.modifiedMs - a.facts.modifiedMs)
  if (options.has('S')) rows.sort((a, b) => b.facts.bytes - a.facts.bytes)
  if (options.has('r')) rows.reverse()
  const more = entries.length > CAP_ENTRIES ? '(there is more)\n' : ''
  return answer(rows.map((row) => `${lsLine(row.name, row.facts, options)}\n`).join('') + more)
}

function lsLine(name: string, facts: Facts, options: Command['options']): string {
  const shown = facts.kind === 'folder' ? `${name}/` : name
  return options.has('l') ? `${dated(facts)} ${String(facts.bytes).padStart(9)} ${shown}` : shown
}

function dated({ modifiedMs }: Facts): string {
  return modifiedMs === 0 ? 'in this run' : new Date(modifiedMs).toISOString().replace(/\.\d+/, '')
}

async function find({ options }: Command, place: Place, at: ToolContext): Output {
  const names = nameTests(options)
  if (isRefused(names)) return names
  const found = await at.copy.walk(place, at.pace, Number(options.get('maxdepth') ?? 20) || 1)
  if (isRefused(found)) return found
  const type = options.get('type')
  const rows = [...(type === 'f' ? [] : found.folders), ...(type === 'd' ? [] : found.files)]
  const kept: string[] = []
  for (const row of rows) {
    const late = await at.pace()
    if (late) return late
    if (isDeep(row, options) && names.fits(row.path) && isAged(row, options, at)) kept.push(row.path)
  }
  const more = found.cut ? '(there is more than was looked through)\n' : ''
  return answer(`${kept.map((path) => `${path}\n`).join('')}${more}`)
}

function nameTests(options: Command['options']): { fits: Fits } | Refused {
  const nameIn = (path: string) => path.slice(path.lastIndexOf('/') + 1)
  const parts = { name: nameIn, iname: (path: string) => nameIn(path).toLowerCase(), path: (path: string) => path }
  const tests: Fits[] = []
  for (const [key, partOf] of Object.entries(parts)) {
    const glob = options.get(key)
    if (glob === undefined) continue
    const pattern = namePattern(key === 'iname' ? glob.toLowerCase() : glob)
    if (isRefused(pattern)) return pattern
    tests.push((path) => pattern.fits(partOf(path)))
  }
  return { fits: (path) => tests.every((fits) => fits(path)) }
}

function isDeep({ within }: FoundFile, options: Command['options']): boolean {
  return within.split('/').length >= Number(options.get('mindepth') ?? 0) && options.get('maxdepth') !== '0'
}

function isAged({ place }: FoundFile, options: Command['options'], at: ToolContext): boolean {
  const days = options.get('mtime')
  if (days === undefined) return true
  const facts = at.copy.facts(place)
  if (isRefused(facts)) return false
  const age = Math.floor((at.clock.now() - facts.modifiedMs) / DAY_MS)
  const wanted = Math.abs(Number(days))
  return days.startsWith('+') ? age > wanted : days.startsWith('-') ? age < wanted : age === wanted
}

async function grep(command: Command, places: readonly Place[], at: ToolContext): Output {
  const { options, pattern = '' } = command
  const form = options.has('F') ? 'fixed' : options.has('E') ? 'extended' : 'basic'
  const [ignoreCase, invert, word] = [options.has('i'), options.has('v'), options.has('w')]
  const include = options.get('include')
  if (!isRecursive(command))
    for (const place of places) {
      const facts = at.copy.facts(place)
      if (isRefused(facts)) return facts
      if (facts.kind === 'folder') return { failed: `${place.asked} is a folder; use grep -r` }
    }
  const mode = options.has('l') ? 'files' : options.has('c') ? 'count' : 'lines'
  const most = Math.min(Number(options.get('m') ?? CAP_LINES), CAP_LINES)
  const what = { pattern, form, ignoreCase, invert, word } as const
  const found = await search(places, what, { ...at, glob: include, lines: mode === 'lines' ? most : 0 })
  if (isRefused(found)) return found
  const matches = found.matches.slice(0, options.has('m') ? most : undefined)
  const named = (isRecursive(command) || places.length > 1 || options.has('H')) && !options.has('h')
  return answer(
    formatMatches(matches, { mode, named, numbered: options.has('n') }) + (found.cut ? '(there is more)\n' : ''),
  )
}
