/** Notices what others changed in a memory directory (an editor, a harness) and journals it. Never fights it. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import { redact } from '../secrets/redact.ts'
import { explainDiskError, type MemoryFile, type MemoryFolder, openFolder } from './folder.ts'
import type { Journal, NewChange } from './journal.ts'
import { isExact } from './journal.ts'
import { isMemoryName, markdownFiles, type Stamp, whereabouts } from './scan.ts'
import type { CredentialNames } from './write-checks.ts'
import type { Writer } from './writer.ts'

type Deps = {
  writer: Writer
  journal: Journal
  clock: Clock
  names: CredentialNames
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  onChange: (dir: string, files: string[]) => void
}

/** Files that are read, and changes that are held in memory and journaled, before others get a turn. */
const AT_ONCE = 20

export type External = {
  /** Compares a directory with the journal, all of it or only these names; returns the files that somebody else changed. */
  look(dir: string, files?: readonly string[]): Promise<string[]>
}

export function createExternal({ writer, journal, clock, names, isPlace, onChange }: Deps): External {
  /** Stamps of files whose content the journal has: as long as they stay, the files need not be read again. */
  const known = new Map<string, Map<string, string>>()

  /** What may be different, with the stamps that were taken before any of it was read. */
  const suspects = (dir: string): Map<string, Stamp | undefined> => {
    const stamps = markdownFiles(dir, clock.now())
    const before = known.get(dir) ?? new Map<string, string>()
    const same = [...before].filter(([file, value]) => stamps.get(file)?.value === value)
    known.set(dir, new Map(same))
    const files = new Map<string, Stamp | undefined>(stamps)
    // Also what is not listed: it may be gone, or one too many for the list.
    for (const file of journal.files(dir)) if (!files.has(file)) files.set(file, undefined)
    for (const [file] of same) files.delete(file)
    return files
  }

  const compare = async (
    dir: string,
    folder: MemoryFolder | undefined,
    files: readonly [string, Stamp | undefined][],
  ) => {
    const changes: NewChange[] = []
    const readable: [string, Stamp | undefined][] = []
    for (const [file, stamp] of files) {
      // Whatever is found now: a file that went may come back with the stamp it had.
      known.get(dir)?.delete(file)
      const present = folder && lookAt(folder, file)
      if (present === 'unreadable') continue
      readable.push([file, stamp])
      const change = await difference(dir, file, present)
      if (change) changes.push(change)
    }
    if (changes.length > 0) {
      journal.append(changes)
      // They are in the files already.
      journal.settle()
    }
    for (const [file, stamp] of readable) if (stamp?.settled) known.get(dir)?.set(file, stamp.value)
    return changes.map(({ file }) => file)
  }

  const difference = async (dir: string, file: string, now: MemoryFile | undefined): Promise<NewChange | undefined> => {
    // Without the words first: what we wrote ourselves is looked at, too, and is as it should be.
    if (journal.tip(dir, file)?.hash === now?.hash) return undefined
    const before = journal.latest(dir, file)?.after
    // A name cannot be kept without what it gives away.
    if (await names.has(file)) return undefined
    const after = now && { hash: now.hash, text: (await redact(now.text)).text }
    return {
      at: clock.now(),
      dir,
      file,
      op: !now ? 'delete' : before ? 'update' : 'create',
      actor: 'external',
      reason: before ? 'changed outside memoryd' : 'found',
      runId: undefined,
      before,
      after,
      undoable: before !== undefined && isExact(before),
      evidence: [],
    }
  }

  const compareAll = async (dir: string, folder: MemoryFolder | undefined, files: Map<string, Stamp | undefined>) => {
    const rest = [...files]
    const changed: string[] = []
    try {
      while (rest.length > 0) {
        changed.push(...(await compare(dir, folder, rest.splice(0, AT_ONCE))))
        await turn()
      }
    } finally {
      if (changed.length > 0) onChange(dir, changed)
    }
    return changed
  }

  const look: External['look'] = (dir, files) =>
    writer.alone(dir, async () => {
      const where = whereabouts(dir)
      if (where === 'gone') return compareAll(dir, undefined, withoutStamps(journal.files(dir)))
      if (where === 'unknown' || !isPlace(dir)) return []
      let folder: MemoryFolder | undefined
      try {
        folder = openFolder(dir, { mayBeAt: isPlace })
        return await compareAll(dir, folder, files ? withoutStamps(files.filter(isMemoryName)) : suspects(dir))
      } catch (error) {
        throw explainDiskError(dir, error)
      } finally {
        folder?.close()
      }
    })
  return { look }
}

function withoutStamps(files: readonly string[]): Map<string, undefined> {
  return new Map(files.map((file) => [file, undefined]))
}

/** A file that cannot be read safely is none of ours, and not gone either. */
function lookAt(folder: MemoryFolder, file: string): MemoryFile | undefined | 'unreadable' {
  try {
    return folder.read(file)
  } catch {
    return 'unreadable'
  }
}
