/** What happened to memories: changes, runs, tombstones and what waits for review. Changes nothing but tombstones. */
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Change, ChangeItem, ChangeList, Run } from '../../schema/history.ts'
import type { Projects } from '../projects/projects.ts'
import { isIndex } from './file-names.ts'
import type { Journal, Change as Row } from './journal.ts'
import type { Review, Reviews } from './review.ts'
import type { Tombstones } from './tombstones.ts'
import { isPurged, isUndoable } from './undo.ts'

export type ChangesQuery = { file: string | undefined; limit: number | undefined; after: string | undefined }

const DEFAULT_LIMIT = 100

export function createHistory(projects: Projects, journal: Journal, tombstones: Tombstones, reviews: Reviews) {
  return {
    changes: (cwd: string, caller: Caller, { file, limit = DEFAULT_LIMIT, after }: ChangesQuery): ChangeList => {
      const { dir } = projects.find(cwd, caller)
      const before = after === undefined ? undefined : Number(after)
      const rows = journal.list({ dir, file, limit: limit + 1, before })
      const items = rows.slice(0, limit).map(toItem)
      const last = items.at(-1)
      return { items, ...(rows.length > limit && last && { next: last.id }) }
    },
    change: (id: string): Change => {
      const row = journal.get(Number(id))
      if (!row) throw new MemoryError('NOT_FOUND', `there is no change ${id}`, { hint: 'run: memoryd history' })
      return { ...toItem(row), before: row.before?.text ?? null, after: row.after?.text ?? null }
    },
    run: (id: string): Run => reportOf(id, journal),
    hasRun: (id: string): boolean => journal.ofRun(id).some(({ op }) => op !== 'refused'),
    filesOf: (id: string) => {
      const done = journal.ofRun(id).filter(({ partOf, op }) => partOf === undefined && op !== 'refused')
      const held = reviews.list().filter(({ runId }) => runId === id)
      return [
        ...done.map(({ file, reason, before, after }) => {
          const op = !after ? ('delete' as const) : before ? ('update' as const) : ('create' as const)
          return { file, op, reason, diff: diffLines(before?.text, after?.text) }
        }),
        ...held.map(({ file, op, reason, before, after }) => ({ file, op, reason, diff: diffLines(before, after) })),
      ]
    },
    tombstones: () => ({
      items: tombstones.list().map(({ id, at, file, excerpt }) => ({ id: String(id), at: isoTime(at), file, excerpt })),
    }),
    liftTombstone: (id: string): void => {
      if (!tombstones.lift(Number(id)))
        throw new MemoryError('NOT_FOUND', `there is no tombstone ${id}`, { hint: 'run: memoryd forget --rejected' })
    },
    reviews: () => ({ items: reviews.list().map(toReview) }),
  }
}

/** A file that a run touched several times counts once, from before the first to after the last. */
function reportOf(id: string, journal: Journal): Run {
  const rows = journal.ofRun(id).filter(({ partOf }) => partOf === undefined)
  const first = rows[0]
  if (!first) throw new MemoryError('NOT_FOUND', `there is no run ${id}`)
  const files = new Map<string, Row[]>()
  for (const row of rows) if (row.op !== 'refused') files.set(row.file, [...(files.get(row.file) ?? []), row])
  const had = (effect: Effect) => [...files].filter(([, of]) => effectOf(of) === effect).map(([file]) => file)
  // An index that others have written to since stays as they left it.
  const memories = [...files].filter(([file]) => !isIndex(file))
  return {
    ...{ id, at: isoTime(first.at), actor: first.actor },
    created: had('created'),
    updated: had('updated'),
    deleted: had('deleted'),
    refused: rows.filter(({ op }) => op === 'refused').map(({ file }) => file),
    changes: rows.map(toItem),
    undone: memories.length > 0 && memories.every(([file, of]) => isPutBack(journal.latest(first.dir, file), of[0])),
  }
}

type Effect = 'created' | 'updated' | 'deleted' | 'nothing'

function effectOf(rows: readonly Row[]): Effect {
  const after = rows.at(-1)?.after
  if (rows[0]?.before) return after ? 'updated' : 'deleted'
  return after ? 'created' : 'nothing'
}

function isPutBack(latest: Row | undefined, first: Row | undefined): boolean {
  return latest?.op === 'undo' && latest.after?.hash === first?.before?.hash
}

function toItem(row: Row): ChangeItem {
  const { id, at, file, op, actor, reason, runId, before, after, evidence } = row
  return {
    ...{ id: String(id), at: isoTime(at), file, op, actor, reason },
    ...(runId !== undefined && { runId }),
    beforeHash: before?.hash ?? null,
    afterHash: after?.hash ?? null,
    evidence: [...evidence],
    undoable: isUndoable(row),
    ...(isPurged(row) && { purged: true as const }),
  }
}

function toReview({ id, at, runId, file, op, actor, reason, before, after }: Review) {
  return {
    ...{ id: String(id), at: isoTime(at), file, op, actor, reason },
    ...(runId !== undefined && { runId }),
    diff: diffLines(before, after),
  }
}

const CONTEXT_LINES = 2

export function diffLines(before: string | undefined, after: string | undefined): string {
  const old = before?.split('\n') ?? []
  const now = after?.split('\n') ?? []
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  return [
    ...old.slice(Math.max(0, head - CONTEXT_LINES), head).map((line) => `  ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+ ${line}`),
    ...now.slice(now.length - tail, now.length - tail + CONTEXT_LINES).map((line) => `  ${line}`),
  ].join('\n')
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
