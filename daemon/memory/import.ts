/** Takes an exported memory set into a project as one run: all of it or nothing, and no file is written over. */
import type { Caller } from '../../schema/caller.ts'
import type { Imported, TombstoneLine } from '../../schema/transfer.ts'
import type { Core } from '../core.ts'
import { CAP_BYTES, hashOf } from '../platform/safe-folder.ts'
import type { ProjectFinder } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { type MemorySet, readExport } from './export-file.ts'
import { indexOf, isIndex, numbered, twinKey } from './file-names.ts'
import { readMemoryFile } from './folder.ts'
import { dropOrphans, type Journal, newRunId } from './journal.ts'
import { listMemories } from './scan.ts'
import type { Tombstones } from './tombstones.ts'
import { type Author, isRefusal, nameWithoutCredential, refusalOf, whyRefused } from './write-checks.ts'
import type { Batch, Writer } from './writer.ts'

/** Each text takes a millisecond or two to search: other work gets a turn after so many. */
const AT_A_TIME = 20

type Outcome = Pick<Imported, 'created' | 'skipped' | 'renamed' | 'refused'>

export function createImport(
  { clock, db }: Core,
  places: ProjectFinder,
  writer: Writer,
  journal: Journal,
  tombstones: Tombstones,
) {
  const withoutCredentials = async (lines: readonly TombstoneLine[]): Promise<TombstoneLine[]> => {
    const clean: TombstoneLine[] = []
    for (const { file, excerpt, ...same } of lines) {
      if (clean.length % AT_A_TIME === 0) await clock.delay(0)
      clean.push({ ...same, file: await nameWithoutCredential(file), excerpt: (await redact(excerpt)).text })
    }
    return clean
  }

  const addAll = async (dir: string, files: MemorySet['files'], batch: Batch): Promise<Outcome> => {
    const outcome: Outcome = { created: [], skipped: [], renamed: [], refused: [] }
    const add = async (file: string, as: string): Promise<void> => {
      const reason = await refusalIn(batch, as, files.get(file) as Buffer)
      if (reason !== undefined) outcome.refused.push({ file, reason })
      else if (as === file) outcome.created.push(file)
      else outcome.renamed.push({ file, as })
    }
    const occupied = occupiedIn(dir)
    for (const naming of nameAll(await incomingOf(files, occupied), occupied)) {
      if (naming.is === 'refused') outcome.refused.push({ file: naming.file, reason: naming.reason })
      else if (naming.is === 'skipped') outcome.skipped.push(naming.file)
      else await add(naming.file, naming.as)
    }
    // An index comes as it is where there is none and all it was made for has come; else each write adds its own line.
    const missing = [...outcome.renamed, ...outcome.refused].map(({ file }) => indexOf(file))
    for (const index of [...files.keys()].filter(isIndex).sort()) {
      if (occupied.hashAt(index) === hashOf(files.get(index) as Buffer)) outcome.skipped.push(index)
      if (!occupied.names.includes(index) && !missing.includes(index)) await add(index, index)
    }
    return outcome
  }

  /** Once, however often the same file is imported. */
  const recordRefusals = async (dir: string, refused: Imported['refused'], author: Author): Promise<void> => {
    for (const { file, reason } of refused) {
      const row = await refusalOf({ at: clock.now(), dir, file, why: reason, author })
      const [last] = journal.list({ dir, file: row.file, limit: 1 })
      if (last?.op !== 'refused' || last.reason !== row.reason) journal.append([row])
    }
  }

  const reject = (dir: string, lines: readonly TombstoneLine[]): number[] =>
    lines
      .filter(({ values }) => values.some((value) => !tombstones.find([dir], [value])))
      .map(({ at, file, excerpt, values }) => tombstones.add({ at: Date.parse(at), dir, file, excerpt }, values))

  const bring = async (dir: string, set: MemorySet, author: Author & { runId: string }, batch: Batch) => {
    const outcome = await addAll(dir, set.files, batch)
    let rejected: number[] = []
    const inTransaction = () => {
      rejected = reject(dir, set.tombstones)
      return () => {
        for (const id of rejected) tombstones.lift(id)
        dropOrphans(db.history)
      }
    }
    const writes = outcome.created.length + outcome.renamed.length > 0
    if (writes) await batch.commit(inTransaction)
    else journal.append([], inTransaction)
    await recordRefusals(dir, outcome.refused, author)
    const counts = { changes: set.changes, tombstones: rejected.length }
    return { ...(writes && { runId: author.runId }), ...outcome, ...counts }
  }

  return {
    run: async (cwd: string, caller: Caller, chunks: AsyncIterable<Uint8Array>): Promise<Imported> => {
      const { dir } = places.forWriting(cwd, caller)
      const { tombstones: lines, ...set } = await readExport(chunks)
      const clean = { ...set, tombstones: await withoutCredentials(lines) }
      const author = { actor: caller.actor, reason: 'imported', runId: newRunId('import', clock.now()) }
      return writer.change(dir, author, (batch) => bring(dir, clean, author, batch))
    },
  }
}

async function refusalIn(batch: Batch, file: string, bytes: Buffer): Promise<string | undefined> {
  const content = bytes.toString()
  if (bytes.length > CAP_BYTES) return `shape: it is larger than ${CAP_BYTES} bytes`
  if (!Buffer.from(content).equals(bytes)) return 'shape: its bytes are no text'
  try {
    await batch.add({ file, content, expect: null })
    return undefined
  } catch (error) {
    if (!isRefusal(error)) throw error
    return whyRefused(error)
  }
}

type Occupied = ReturnType<typeof occupiedIn>

function occupiedIn(dir: string) {
  const { files, folders, closed } = listMemories(dir)
  const readable = new Set(files)
  return {
    names: [...files, ...folders, ...closed],
    hashAt: (file: string): string | undefined => {
      try {
        return readable.has(file) ? readMemoryFile(dir, file)?.hash : undefined
      } catch {
        // A link, say: no memory that comes in is the same.
        return undefined
      }
    },
  }
}

export type Incoming = { file: string; hashes: readonly string[] }

async function incomingOf(files: MemorySet['files'], occupied: Occupied): Promise<Incoming[]> {
  const taken = new Set(occupied.names.map(twinKey))
  const incoming: Incoming[] = []
  for (const [file, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (isIndex(file)) continue
    const hashes = [hashOf(bytes)]
    // A file that was imported before may have lost a credential.
    if (taken.has(twinKey(file))) hashes.push(hashOf((await redact(bytes.toString())).text))
    incoming.push({ file, hashes })
  }
  return incoming
}

export type Naming =
  | { file: string; is: 'created' | 'skipped'; as: string }
  | { file: string; is: 'refused'; reason: string }

const MOST_TRIES = 1_000

export function nameAll(incoming: readonly Incoming[], { names, hashAt }: Occupied): Naming[] {
  const spelled = new Map<string, string>()
  const settle = (file: string) => {
    for (const path of pathsTo(file)) spelled.set(twinKey(path), path)
  }
  for (const name of names) settle(name)
  /** Some systems take names that differ in case or form for one, of folders too: there only one of them may stand. */
  const mistaken = (path: string) => (spelled.get(twinKey(path)) ?? path) !== path

  const decide = ({ file, hashes }: Incoming): Naming => {
    const refused = (reason: string): Naming => ({ file, is: 'refused', reason: `path: ${reason}` })
    const folder = pathsTo(file).slice(0, -1).find(mistaken)
    if (folder !== undefined) return refused(`the folder ${folder} would stand beside one of nearly the same name`)
    for (let n = 1; n < MOST_TRIES; n++) {
      const as = numbered(file, n)
      const there = spelled.get(twinKey(as))
      if (there === undefined) {
        settle(as)
        return { file, is: 'created', as }
      }
      const hash = hashAt(there)
      if (hash !== undefined && hashes.includes(hash)) return { file, is: 'skipped', as: there }
    }
    return refused('there are too many memories of this name')
  }
  return incoming.map(decide)
}

/** `a/b/c.md` → `a`, `a/b`, `a/b/c.md`. */
function pathsTo(file: string): string[] {
  const parts = file.split('/')
  return parts.map((_part, at) => parts.slice(0, at + 1).join('/'))
}
