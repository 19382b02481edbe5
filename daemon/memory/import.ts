/** Takes an exported memory set into a project, with its history: as one run through the gate, so all of it or nothing. */
import type { Caller } from '../../schema/caller.ts'
import type { Imported } from '../../schema/transfer.ts'
import type { Clock } from '../platform/clock.ts'
import { isIndex } from './folder.ts'
import { readExport } from './import-file.ts'
import { importedHistory } from './import-history.ts'
import { importFates, type Named, planImport } from './import-plan.ts'
import { type Journal, type NewChange, newRunId } from './journal.ts'
import type { Past } from './past.ts'
import type { Places } from './place.ts'
import { groundOf } from './scan.ts'
import { openSpool, type Spool } from './spool.ts'
import { cleanSpool } from './spool-cleaning.ts'
import type { Tombstones } from './tombstones.ts'
import { type Author, refusalOf, type WriteChecks } from './write-checks.ts'
import type { Batch, Writer } from './writer.ts'

type Deps = {
  places: Places
  writer: Writer
  checks: WriteChecks
  journal: Journal
  past: Past
  tombstones: Tombstones
  clock: Clock
  /** Where what has come waits until all of it is there. */
  stateDir: string
}

export type Importing = {
  run(cwd: string, caller: Caller, chunks: AsyncIterable<Uint8Array>): Promise<Imported>
}

export function createImport(deps: Deps): Importing {
  const { places, writer, checks, journal, past, tombstones, clock, stateDir } = deps

  /** The history of what comes in, and of what there is nothing left of but its history. */
  function* wishes(dir: string, spool: Spool, coming: readonly Named[]): Generator<Named> {
    yield* coming
    const taken = new Set([...groundOf(dir).names, ...coming.map(({ as }) => as)])
    for (const file of spool.gone())
      if (!isIndex(file) && !taken.has(file) && !past.knows(dir, file) && isName(file)) yield { file, as: file }
  }
  const isName = (file: string): boolean => {
    try {
      checks.checkName(file)
      return true
    } catch {
      return false
    }
  }

  /** That something was refused is recorded, once. */
  const refusalsOf = async (dir: string, refused: Imported['refused'], author: Author): Promise<NewChange[]> => {
    const rows: NewChange[] = []
    for (const { file, reason } of refused) {
      const row = await refusalOf({ at: clock.now(), dir, file, why: reason, author })
      const [last] = journal.list({ dir, file: row.file, limit: 1 })
      if (last?.op !== 'refused' || last.reason !== row.reason) rows.push(row)
    }
    return rows
  }

  const bring = async (
    dir: string,
    spool: Spool,
    author: Author & { runId: string },
    batch: Batch,
  ): Promise<Imported> => {
    const { writes, indexes, ...outcome } = await planImport(dir, spool, batch)
    const created = outcome.created.map((file) => ({ file, as: file }))
    spool.want(wishes(dir, spool, [...created, ...outcome.renamed]))
    await cleanSpool(spool, clock)
    const refusals = await refusalsOf(dir, outcome.refused, author)
    const history = importedHistory({ spool, past, tombstones }, { dir, indexes, refusals })
    if (writes.length > 0)
      await batch.commit(() => {
        history.before()
        return history.takeBack
      })
    else journal.append([], history.before)
    return { ...(writes.length > 0 && { runId: author.runId }), ...outcome, ...history.counts() }
  }

  return {
    run: async (cwd, caller, chunks) => {
      const { dir } = places.forWriting(cwd, caller)
      const spool = openSpool(stateDir)
      try {
        await readExport(chunks, spool)
        // What takes long is done while others may still write.
        const fates = await importFates(dir, spool)
        const coming = fates.filter((fate) => fate.is === 'created')
        spool.want(wishes(dir, spool, coming))
        await cleanSpool(spool, clock)
        const author = { actor: caller.actor, reason: 'imported', runId: newRunId('import', clock.now()) }
        return await writer.change(dir, author, (batch) => bring(dir, spool, author, batch))
      } finally {
        spool.close()
      }
    },
  }
}
