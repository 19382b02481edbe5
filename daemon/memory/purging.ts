/** Forgets a memory without a trace: file, index line, journal, backups. Only a person may, and nobody can undo it. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Forgotten } from '../../schema/memory.ts'
import type { Databases } from '../db/databases.ts'
import type { Keeper, Purged, Purges } from '../db/purge.ts'
import type { Indexes } from '../db/scrub.ts'
import type { Clock } from '../platform/clock.ts'
import { INDEXES, indexOf, nameInIndex } from './file-names.ts'
import { readMemoryFile } from './folder.ts'
import { withoutPointer } from './index-file.ts'
import type { Journal } from './journal.ts'
import { rejectedValues, type Tombstones } from './tombstones.ts'
import { onlyForPersons } from './write-checks.ts'
import type { Writer } from './writer.ts'

type Deps = {
  store: Pick<Databases, 'alone' | 'finishPurges'>
  keepers: readonly Keeper[]
  purges: Purges
  writer: Writer
  journal: Journal
  tombstones: Tombstones
  clock: Clock
  /** Brings the journal up to what others did in a directory. */
  look: (dir: string) => Promise<unknown>
}

export type Purging = {
  purge(
    dir: string,
    caller: Caller,
    file: string,
    how: { reject: boolean; ifHash: string | undefined },
  ): Promise<Forgotten>
  /** Takes up what a kill or a full disk interrupted. */
  finish(): Promise<Purged[]>
}

const indexes: Indexes = {
  files: INDEXES,
  // A person may point to the team's memories from their own index, too.
  without: (index, text, file) => withoutPointer(text, index === indexOf(file) ? nameInIndex(file) : file),
  isThere: ({ dir, file }) => isThere(join(dir, file)),
}

/** What cannot be looked at may well be there. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

export function createPurging({ store, keepers, purges, writer, journal, tombstones, clock, look }: Deps): Purging {
  const finish = () => store.finishPurges(indexes, keepers)

  /** Before anything is gone: afterwards nobody would know what to reject. */
  const reject = (dir: string, file: string, present: string | undefined): number | undefined => {
    const latest = journal.latest(dir, file)
    const values = rejectedValues(file, present ?? latest?.after?.text ?? latest?.before?.text ?? '')
    return values.length === 0 ? undefined : tombstones.add({ at: clock.now(), dir, file, excerpt: 'purged' }, values)
  }

  return {
    purge: async (dir, { actor }, file, how) => {
      if (actor !== 'user') throw onlyForPersons('only a person may purge')
      return store.alone(async () => {
        const present = readMemoryFile(dir, file)
        if (!present && !purges.knows(dir, file)) throw new MemoryError('NOT_FOUND', `there is no memory ${file}`)
        // A file that was renamed just now is known by its old name, and what goes is found by what it says.
        if (present) await look(dir)
        const tombstone = how.reject ? reject(dir, file, present?.text) : undefined
        const write = { file, content: null, expect: how.ifHash, leaves: 'nothing' } as const
        const [done] = await writer.write(dir, [write], { actor, reason: 'purged' }).catch((error: unknown) => {
          if (tombstone !== undefined) tombstones.lift(tombstone)
          throw error
        })
        const {
          versions = 0,
          backups = 0,
          deleted = [],
        } = (await finish()).find(({ change }) => change === done?.id) ?? {}
        return {
          changeId: String(done?.id),
          ...(tombstone !== undefined && { tombstoneId: String(tombstone) }),
          purged: { versions, backups, deleted },
        }
      })
    },
    finish: () => store.alone(finish),
  }
}
