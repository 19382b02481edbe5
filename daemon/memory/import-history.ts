/** The history that comes with an import: changes and rejections, for the transaction of its run. */
import type { ChangeLine } from '../../schema/transfer.ts'
import type { Evidence, NewChange, Version } from './journal.ts'
import { isExact } from './journal.ts'
import type { Past, Span } from './past.ts'
import type { Spool } from './spool.ts'
import type { Tombstones } from './tombstones.ts'

type Deps = { spool: Spool; past: Past; tombstones: Tombstones }

type Brought = {
  dir: string
  /** Indexes that come as they were: what was done to others along with a memory says nothing here. */
  indexes: readonly string[]
  refusals: readonly NewChange[]
}

export type ImportedHistory = { before(): void; takeBack(): void; counts(): { changes: number; tombstones: number } }

export function importedHistory(
  { spool, past, tombstones }: Deps,
  { dir, indexes, refusals }: Brought,
): ImportedHistory {
  let span: Span | undefined
  let graves: number[] = []
  let changes = 0

  function* history(): Generator<NewChange> {
    const upTo = past.lastId()
    for (const { file, as, change } of spool.wanted()) {
      // A name that gave a credential away was cleaned, and is no name of a memory any more.
      if (change.file !== file) continue
      const runId = change.run === undefined ? undefined : past.freeRun(change.run, upTo)
      const whole = changeOf({ dir, as, change, runId, indexes, textOf: spool.textOf })
      if (past.holds(whole)) continue
      changes += 1
      yield whole
    }
    yield* refusals
  }
  const isNew = (values: readonly string[]) => values.some((value) => !tombstones.find([dir], [value]))

  return {
    before: () => {
      span = past.bring(history())
      for (const { at, file, excerpt, values } of spool.tombstones())
        if (isNew(values)) graves.push(tombstones.add({ at: Date.parse(at), dir, file, excerpt }, values))
    },
    takeBack: () => {
      if (span) past.takeBack(span)
      for (const id of graves) tombstones.lift(id)
      graves = []
    },
    counts: () => ({ changes, tombstones: graves.length }),
  }
}

type Placed = {
  dir: string
  as: string
  change: ChangeLine
  runId: string | undefined
  indexes: readonly string[]
  textOf: Spool['textOf']
}

function changeOf({ dir, as, change, runId, indexes, textOf }: Placed): NewChange {
  const { op, actor, reason, parts } = change
  const at = Date.parse(change.at)
  const entry = (each: ChangeLine | ChangeLine['parts'][number], file: string, evidence: readonly Evidence[]) => {
    const before = versionOf(each.before, textOf)
    const after = versionOf(each.after, textOf)
    return {
      at,
      dir,
      file,
      op: each.op,
      actor,
      reason,
      runId,
      before,
      after,
      // Only what gives the bytes back can be put back, whatever the file says.
      undoable: each.undoable && isExact(before),
      evidence,
    }
  }
  return {
    ...entry(change, as, change.evidence),
    op,
    parts: parts.filter(({ file }) => indexes.includes(file)).map((part) => entry(part, part.file, [])),
  }
}

function versionOf(version: ChangeLine['before'], textOf: Spool['textOf']): Version | undefined {
  if (version === null) return undefined
  return { hash: version.hash, text: version.text === null ? undefined : textOf(version.text) }
}
