/** What the doctor looks at besides the store: the key, the jobs and the memories. Each check gives findings and changes nothing. */
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../schema/rendezvous.ts'
import { closing, hasTable, openForReading, schemaVersion } from '../db/database.ts'
import { createJobTable, type Job } from '../jobs/job-table.ts'
import { INDEX_FILE } from '../memory/file-names.ts'
import { openFolder } from '../memory/folder.ts'
import { loadIndex } from '../memory/index-file.ts'
import { type Scan, scanMemories } from '../memory/scan.ts'
import { message, readPrivateFile } from '../platform/files.ts'
import { shellWord } from '../platform/text.ts'
import { createDirectories, type Directory } from '../projects/projects.ts'

export type Finding = { check: string; state: 'ok' | 'warning' | 'problem'; message: string; remedy?: string }

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message }
}

export function warning(check: string, message: string, remedy: string): Finding {
  return { check, state: 'warning', message, remedy }
}

export function problem(check: string, message: string, remedy: string): Finding {
  return { check, state: 'problem', message, remedy }
}

type Wanted = { model: { apiKeyFile: string | null; apiKeyCommand: string | null }; budget: Caps }
type Caps = { usdPerDay: number; tokensPerDay: number }

/** Runs no command and asks no server. */
export function keyFinding({ model, budget }: Wanted, env: Environment): Finding {
  const check = 'key'
  if (budget.usdPerDay === 0 || budget.tokensPerDay === 0) return ok(check, 'the budget is 0: no model is called')
  const name = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'].find((variable) => env[variable])
  // A service has an environment of its own, which cannot be seen from here.
  if (name) return ok(check, `${name} is set here; a daemon started here is online`)
  if (model.apiKeyFile !== null) {
    const read = readPrivateFile(model.apiKeyFile)
    if ('trouble' in read) return problem(check, read.trouble, read.remedy)
    if (read.text.trim() === '') return problem(check, `${model.apiKeyFile} is empty`, 'write the key into it')
    return ok(check, `${model.apiKeyFile} is yours alone`)
  }
  if (model.apiKeyCommand !== null) return ok(check, 'a command of yours is asked for it')
  return ok(check, 'there is none here: a daemon started here is offline and calls no model')
}

const HOUR_MS = 3_600_000
const MOST_LOOKED_AT = 999

/** `awake`: a daemon runs that should take jobs. */
export function jobFinding(indexFile: string, { nowMs, awake }: { nowMs: number; awake: boolean }): Finding {
  const check = 'jobs'
  if (!existsSync(indexFile)) return ok(check, 'none yet')
  return closing(openForReading(indexFile), (db) => {
    if (!hasTable(db, 'jobs')) return ok(check, 'none yet')
    const jobs = createJobTable(() => db)
    const counts = jobs.counts()
    const all = (state: string) => jobs.list({ state, limit: MOST_LOOKED_AT }).jobs
    const slow = awake && all('running').find(({ startedMs = nowMs }) => nowMs - startedMs > HOUR_MS)
    if (slow) return warning(check, `${slow.id} has been running for more than an hour`, `memoryd jobs kill ${slow.id}`)
    const left = awake && all('queued').find(({ readyMs, createdMs }) => nowMs - Math.max(readyMs, createdMs) > HOUR_MS)
    if (left)
      return warning(check, `${left.id} has been due for more than an hour, and is not taken up`, 'memoryd restart')
    const failed = newestOfEach(jobs.list({ limit: MOST_LOOKED_AT }).jobs).find(({ state }) => state === 'failed')
    if (failed) {
      const { id, error = 'for no reason that is known' } = failed
      return warning(check, `${counts.failed} given up, ${id} among them: ${error}`, `memoryd jobs retry ${id}`)
    }
    const { queued, waiting, running } = counts
    return ok(check, `${queued} queued, ${waiting} waiting, ${running} running`)
  })
}

/** A failure that newer work of the same kind and key has overtaken is none any more. */
function newestOfEach(newestFirst: readonly Job[]): Job[] {
  const seen = new Set<string>()
  return newestFirst.filter(({ kind, key }) => {
    const known = seen.size
    return seen.add(`${kind} ${key}`).size > known
  })
}

type Known = { dir: string; roots: string[]; scan: Scan }

/** Directories are known from the second schema on. */
const FIRST_SCHEMA = 2
const NAMED = 3

export function memoryFindings(historyFile: string): Finding[] {
  try {
    const known = knownDirectories(historyFile)
    return [...lost(known), ...shared(known), ...cutOff(known), ...unfindable(known)]
  } catch (error) {
    return [warning('memories', `cannot be looked at: ${message(error)}`, 'see above')]
  }
}

function knownDirectories(historyFile: string): Known[] {
  const places = new Map<string, Known>()
  for (const { dir, root } of directoriesIn(historyFile)) {
    if (!existsSync(dir)) continue
    const place = realpathSync(dir)
    const known = places.get(place) ?? { dir, roots: [], scan: scanMemories(dir) }
    if (!known.roots.includes(root)) known.roots.push(root)
    places.set(place, known)
  }
  return [...places.values()]
}

function directoriesIn(historyFile: string): Directory[] {
  if (!existsSync(historyFile)) return []
  return closing(openForReading(historyFile), (db) =>
    schemaVersion(db) < FIRST_SCHEMA ? [] : createDirectories(db).list(),
  )
}

function lost(known: readonly Known[]): Finding[] {
  const check = 'moved projects'
  const gone = known.flatMap(({ dir, roots, scan }) => {
    const count = scan.items.length + scan.older
    // Where another project uses the same directory, its memories are not lost.
    return count > 0 && !roots.some(isThere) ? roots.map((root) => ({ dir, root, count })) : []
  })
  if (gone.length === 0) return [ok(check, `${known.length} known, none of them gone`)]
  return gone.map(({ dir, root, count }) => {
    const memories = count === 1 ? 'a memory of it is' : `${count} memories of it are`
    const remedy = `if it was moved: memoryd move ${shellWord(root)} <where it is now>`
    return warning(check, `${root} is gone, and ${memories} still in ${dir}`, remedy)
  })
}

function shared(known: readonly Known[]): Finding[] {
  const remedy = 'if they should not: rename one of them, or give one an autoMemoryDirectory of its own'
  return known
    .map(({ dir, roots }) => ({ dir, roots: roots.filter(isThere) }))
    .filter(({ roots }) => roots.length > 1)
    .map(({ dir, roots }) => warning('shared memories', `${roots.join(' and ')} have one memory, ${dir}`, remedy))
}

function cutOff(known: readonly Known[]): Finding[] {
  return known.flatMap(({ dir }) => {
    const { lines, bytes, truncated } = loadIndex(indexIn(dir))
    if (!truncated) return []
    const remedy = 'keep each memory to one short line, move detail into topic files, remove what no longer matters'
    const what = `${join(dir, INDEX_FILE)} has ${lines} lines and ${bytes} bytes; no agent sees all of it`
    return [warning('index', what, remedy)]
  })
}

function unfindable(known: readonly Known[]): Finding[] {
  return known.flatMap(({ dir, roots, scan }) => {
    const vague = scan.items.filter(({ description }) => isVague(description)).map(({ file }) => file)
    if (vague.length === 0) return []
    const named = vague.slice(0, NAMED).join(', ')
    const rest = vague.length > NAMED ? ` and ${vague.length - NAMED} more` : ''
    const what = `no agent will find ${named}${rest} in ${dir}: the description says too little or is missing`
    const edit = `memoryd edit --project ${shellWord(roots[0] ?? dir)} ${shellWord(vague[0] ?? '')}`
    const remedy = `say in the description what the memory holds, in any editor or with: ${edit}`
    return [warning('descriptions', what, remedy)]
  })
}

function indexIn(dir: string): string {
  try {
    const folder = openFolder(dir)
    try {
      return folder.read(INDEX_FILE)?.text ?? ''
    } finally {
      folder.close()
    }
  } catch {
    // A link, a device, a file of another user: the daemon does not load it either.
    return ''
  }
}

/** A link left behind leads to another project. */
function isThere(root: string): boolean {
  return lstatSync(root, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Words that could stand over any memory. */
const EMPTY = new Set(
  `a about an and any are as be been can for from general has have here how i important in info information is it its
   know known like memory memories misc miscellaneous more my need no not note notes of on or other our project related
   remember see should some something stuff that the their them then there these they thing things this to todo topic
   use useful user various want was we what when where which who will with you your`.split(/\s+/),
)
const TELLING_WORDS = 2
/** Scripts that put no space between words say in two characters what others say in a word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu
const UNSPACED_PER_WORD = 2

export function isVague(description: string | undefined): boolean {
  const text = (description ?? '').normalize('NFKC').toLowerCase()
  const unspaced = text.match(UNSPACED)?.length ?? 0
  const words = text.replace(UNSPACED, ' ').match(/[\p{L}\p{N}][\p{L}\p{N}'’_.-]*/gu) ?? []
  const telling = new Set(words.filter((word) => word.length > 1 && !EMPTY.has(word)))
  return telling.size + Math.floor(unspaced / UNSPACED_PER_WORD) < TELLING_WORDS
}
