/** Decides what an import will write, and what becomes of each file of it. Writes nothing. */
import type { Imported } from '../../schema/transfer.ts'
import { CAP_BYTES, hashOf } from '../platform/safe-folder.ts'
import { redact } from '../secrets/redact.ts'
import { numbered, twinKey } from './file-names.ts'
import { indexOf, isIndex } from './folder.ts'
import { groundOf } from './scan.ts'
import type { Spool } from './spool.ts'
import { isRefusal, type Write, whyRefused } from './write-checks.ts'
import type { Batch } from './writer.ts'

export type Plan = Pick<Imported, 'created' | 'skipped' | 'renamed' | 'refused'> & {
  writes: Write[]
  /** Indexes that come as they are. */
  indexes: string[]
}

/** Under which names the memories would come in now; the indexes are another matter. */
export async function importFates(dir: string, spool: Spool): Promise<Fate[]> {
  const ground = groundOf(dir)
  const taken = new Set(ground.names.map(twinKey))
  const incoming = []
  for (const file of spool.files().filter((name) => !isIndex(name))) {
    const bytes = spool.bytesOf(file)
    const hashes = [hashOf(bytes)]
    // What came in without its credential is still the same memory.
    if (taken.has(twinKey(file))) hashes.push(hashOf((await redact(bytes.toString())).text))
    incoming.push({ file, hashes })
  }
  return fatesOf(incoming, ground)
}

/** What may be written is in the batch. */
export async function planImport(dir: string, spool: Spool, batch: Batch): Promise<Plan> {
  const plan: Plan = { created: [], skipped: [], renamed: [], refused: [], writes: [], indexes: [] }
  const fates = await importFates(dir, spool)
  for (const fate of fates) {
    if (fate.is === 'refused') plan.refused.push({ file: fate.file, reason: fate.reason })
    else if (fate.is === 'skipped') plan.skipped.push(fate.file)
    else {
      const { file, as } = fate
      const write = await offer(spool, { file, as }, batch)
      if ('reason' in write) plan.refused.push({ file, reason: write.reason })
      else {
        plan.writes.push(write)
        if (as === file) plan.created.push(file)
        else plan.renamed.push({ file, as })
      }
    }
  }
  await planIndexes(dir, spool, batch, plan)
  return plan
}

/**
 * An index comes to the byte where there is none and all it was made for has come; else the lines it needs are added to
 * what is there, as with any other write.
 */
async function planIndexes(dir: string, spool: Spool, batch: Batch, plan: Plan): Promise<void> {
  const ground = groundOf(dir)
  const astray = [...plan.renamed, ...plan.refused].map(({ file }) => indexOf(file))
  for (const index of spool.files().filter(isIndex)) {
    if (ground.hashAt(index) === hashOf(spool.bytesOf(index))) plan.skipped.push(index)
    if (ground.names.includes(index) || astray.includes(index)) continue
    const write = await offer(spool, { file: index, as: index }, batch)
    if ('reason' in write) plan.refused.push({ file: index, reason: write.reason })
    else {
      plan.writes.push(write)
      plan.indexes.push(index)
      plan.created.push(index)
    }
  }
}

async function offer(spool: Spool, { file, as }: Named, batch: Batch): Promise<Write | { reason: string }> {
  const bytes = spool.bytesOf(file)
  const content = bytes.toString()
  if (bytes.length > CAP_BYTES) return { reason: `shape: it is larger than ${CAP_BYTES} bytes` }
  if (!Buffer.from(content).equals(bytes)) return { reason: 'shape: its bytes are no text' }
  const write: Write = { file: as, content, expect: null }
  try {
    await batch.add(write)
    return write
  } catch (error) {
    if (!isRefusal(error)) throw error
    return { reason: whyRefused(error) }
  }
}

/**
 * Decides under which names memories come into a directory from elsewhere: their own, or a free one where another memory
 * has it. Nothing is ever written over. Does no I/O.
 */

/** A file, and the name it has in the directory it comes into. */
export type Named = { file: string; as: string }

/** `hashes`: the bytes as they come, and as they would be written. */
export type Incoming = { file: string; hashes: readonly string[] }

export type Fate =
  | (Named & { is: 'created' })
  | (Named & { is: 'skipped' })
  | { file: string; is: 'refused'; reason: string }

/** What the directory has: every name in it, and the hash of what is under one, if that can be read. */
export type Ground = { names: readonly string[]; hashAt: (file: string) => string | undefined }

const MOST_TRIES = 1_000

/** The order decides who gets a name that several could be mistaken for. */
export function fatesOf(incoming: readonly Incoming[], { names, hashAt }: Ground): Fate[] {
  const spelled = new Map<string, string>()
  const settle = (file: string) => {
    for (const path of pathsTo(file)) spelled.set(twinKey(path), path)
  }
  for (const name of names) settle(name)
  /** Some systems take names that differ in case or form for one, of folders too: there only one of them may stand. */
  const mistaken = (path: string) => (spelled.get(twinKey(path)) ?? path) !== path

  const decide = ({ file, hashes }: Incoming): Fate => {
    const folder = pathsTo(file).slice(0, -1).find(mistaken)
    if (folder !== undefined)
      return {
        file,
        is: 'refused',
        reason: `path: the folder ${folder} would stand beside one of nearly the same name`,
      }
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
    return { file, is: 'refused', reason: 'path: there are too many memories of this name' }
  }
  return incoming.map(decide)
}

/** `a/b/c.md` → `a`, `a/b`, `a/b/c.md`. */
function pathsTo(file: string): string[] {
  const parts = file.split('/')
  return parts.map((_part, at) => parts.slice(0, at + 1).join('/'))
}
