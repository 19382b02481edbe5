/** Looks at the memories of every project the daemon has seen: lost, shared, cut off, or beyond finding. Changes nothing. */
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { openForReading } from '../db/database.ts'
import { schemaVersion } from '../db/migrate.ts'
import { openFolder } from '../memory/confined.ts'
import { INDEX_FILE } from '../memory/file-names.ts'
import { loadIndex } from '../memory/index-file.ts'
import { type Scan, scanMemories } from '../memory/scan.ts'
import { message } from '../platform/files.ts'
import { createDirectories, type Directory } from '../projects/projects.ts'
import { isVague } from './descriptions.ts'
import type { Finding } from './finding.ts'

type Known = { dir: string; roots: string[]; scan: Scan }

/** Directories are known from the second schema on. */
const FIRST_SCHEMA = 2
const NAMED = 3

export function memoryFindings(historyFile: string): Finding[] {
  try {
    const known = knownDirectories(historyFile)
    return [...lost(known), ...shared(known), ...cutOff(known), ...unfindable(known)]
  } catch (error) {
    return [
      { check: 'memories', state: 'warning', message: `cannot be looked at: ${message(error)}`, remedy: 'see above' },
    ]
  }
}

/** One for each place on disk, by whatever names it is known. */
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
  const db = openForReading(historyFile)
  try {
    return schemaVersion(db) < FIRST_SCHEMA ? [] : createDirectories(db).list()
  } finally {
    db.close()
  }
}

function lost(known: readonly Known[]): Finding[] {
  const check = 'moved projects'
  const gone = known.flatMap(({ dir, roots, scan }) => {
    const count = scan.items.length + scan.older
    // Where another project uses the same directory, its memories are not lost.
    return count > 0 && !roots.some(isThere) ? roots.map((root) => ({ dir, root, count })) : []
  })
  if (gone.length === 0) return [{ check, state: 'ok', message: `${known.length} known, none of them gone` }]
  return gone.map(({ dir, root, count }) => ({
    check,
    state: 'warning',
    message: `${root} is gone, and ${count === 1 ? 'a memory of it is' : `${count} memories of it are`} still in ${dir}`,
    remedy: `if it was moved: memoryd move ${quoted(root)} <where it is now>`,
  }))
}

function shared(known: readonly Known[]): Finding[] {
  return known
    .map(({ dir, roots }) => ({ dir, roots: roots.filter(isThere) }))
    .filter(({ roots }) => roots.length > 1)
    .map(({ dir, roots }) => ({
      check: 'shared memories',
      state: 'warning',
      message: `${roots.join(' and ')} have one memory, ${dir}`,
      remedy: 'if they should not: rename one of them, or give one an autoMemoryDirectory of its own',
    }))
}

function cutOff(known: readonly Known[]): Finding[] {
  return known.flatMap(({ dir }) => {
    const { lines, bytes, truncated } = loadIndex(indexIn(dir))
    if (!truncated) return []
    const remedy = 'keep each memory to one short line, move detail into topic files, remove what no longer matters'
    const what = `${join(dir, INDEX_FILE)} has ${lines} lines and ${bytes} bytes; no agent sees all of it`
    return [{ check: 'index', state: 'warning', message: what, remedy }]
  })
}

function unfindable(known: readonly Known[]): Finding[] {
  return known.flatMap(({ dir, scan }) => {
    const vague = scan.items.filter(({ description }) => isVague(description)).map(({ file }) => file)
    if (vague.length === 0) return []
    const named = vague.slice(0, NAMED).join(', ')
    const rest = vague.length > NAMED ? ` and ${vague.length - NAMED} more` : ''
    return [
      {
        check: 'descriptions',
        state: 'warning',
        message: `nobody will find ${named}${rest} in ${dir}: the description says too little or is missing`,
        remedy: 'say in the description what the memory holds: memoryd edit <file>, or any editor',
      },
    ]
  })
}

function indexIn(dir: string): Buffer {
  try {
    const folder = openFolder(dir)
    try {
      return folder.read(INDEX_FILE)?.bytes ?? Buffer.alloc(0)
    } finally {
      folder.close()
    }
  } catch {
    // A link, a device, somebody else's: the daemon does not load it either.
    return Buffer.alloc(0)
  }
}

/** A link left behind leads to another project. */
function isThere(root: string): boolean {
  return lstatSync(root, { throwIfNoEntry: false })?.isDirectory() === true
}

function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
