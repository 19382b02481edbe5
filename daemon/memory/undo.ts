/** Puts back what was before a change, or before all changes of a run: everything or nothing, as new changes. */
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { inFolder, isIndex, readPresent } from './folder.ts'
import { type Change, isExact, isMove, type Journal, newRunId } from './journal.ts'
import { forPeople, isAgent } from './write-checks.ts'
import type { Applied, By, Gate, Write } from './writer.ts'

type Deps = { gate: Gate; journal: Journal; clock: Pick<Clock, 'now'>; reviewRequired: () => boolean }

export type Conflict = { file: string; changeId: string; problem: string }

export type Undo = {
  change(id: number, actor: string): Promise<Applied[]>
  /** A run itself, which can be undone as one. */
  run(runId: string, actor: string): Promise<{ runId: string; applied: Applied[] }>
}

export function createUndo({ gate, journal, clock, reviewRequired }: Deps): Undo {
  const undo = async (changes: readonly Change[], by: By): Promise<Applied[]> => {
    const effective = changes.filter(({ op, partOf }) => op !== 'refused' && partOf === undefined)
    const first = effective[0]
    if (!first) throw new MemoryError('NOT_FOUND', 'there is nothing to undo')
    if (isAgent(by.actor) && (reviewRequired() || !effective.every(({ actor }) => isAgent(actor))))
      throw forPeople("an agent may not undo a person's change")
    const all = [...new Set(effective.map(({ file }) => file))].map((file) =>
      planFile(effective.filter((change) => change.file === file)),
    )
    const { plans, conflicts } = inFolder(first.dir, (folder) => {
      const now = new Map(all.map(({ file }) => [file, readPresent(folder, file)?.hash]))
      const plans = withoutSettled(all, now)
      return { plans, conflicts: plans.flatMap((plan) => conflictOf(plan, now.get(plan.file))) }
    })
    if (conflicts.length > 0)
      throw new MemoryError('CONFLICT', `${conflicts.map(({ file, problem }) => `${file} ${problem}`).join('; ')}`, {
        hint: 'nothing was undone; undo the later changes first, or edit by hand',
        details: { conflicts },
      })
    return gate.apply(first.dir, [...plans.map(writeOf), ...indexWrites(effective, first.dir)], { ...by, op: 'undo' })
  }

  /** The index goes back byte for byte when nothing but these changes has touched it since. */
  const indexWrites = (changes: readonly Change[], dir: string): Write[] => {
    const whole = changes.every(({ runId }) => runId !== undefined) || changes.length === 1
    const runId = changes[0]?.runId
    if (!whole || (runId !== undefined && journal.ofRun(runId).some((other) => !included(other, changes)))) return []
    const parts = changes.flatMap(({ id }) => journal.partsOf(id))
    const last = parts.at(-1)
    const before = parts[0]?.before
    if (!last || !isUnbroken(parts) || parts.some(({ undoable, file }) => !undoable || file !== last.file)) return []
    const now = inFolder(dir, (folder) => readPresent(folder, last.file)?.hash)
    if (now !== last.after?.hash) return []
    return [{ file: last.file, content: before?.text ?? null, expect: now, form: 'as-it-was' }]
  }

  return {
    change: async (id, actor) => {
      const change = journal.get(id)
      if (!change) throw new MemoryError('NOT_FOUND', `there is no change ${id}`)
      return undo([change], { actor, reason: `undo of change ${id}` })
    },
    run: async (runId, actor) => {
      // Undone like any other it would take the memories from the new place, and the old one has none to go back to.
      if (isMove(runId))
        throw new MemoryError('CONFLICT', `${runId} moved the memories of a project`, {
          hint: 'to go back: memoryd move <new root> <old root>',
        })
      const by = { actor, reason: `undo of run ${runId}`, runId: newRunId('undo', clock.now()) }
      return { runId: by.runId, applied: await undo(journal.ofRun(runId), by) }
    },
  }
}

function included(other: Change, changes: readonly Change[]): boolean {
  return other.op === 'refused' || other.partOf !== undefined || changes.some(({ id }) => id === other.id)
}

/** Whether each begins where the one before ended: otherwise somebody else's edit lies between them. */
function isUnbroken(changes: readonly Change[]): boolean {
  return changes.every(({ before }, at) => at === 0 || before?.hash === changes[at - 1]?.after?.hash)
}

type Plan = {
  file: string
  id: number
  before: Change['before']
  after: Change['after']
  undoable: boolean
  unbroken: boolean
}

/** Several changes of one file in a run are undone as one, from the state after the last to the one before the first. */
function planFile(changes: readonly Change[]): Plan {
  const first = changes[0] as Change
  const last = changes.at(-1) as Change
  return {
    file: first.file,
    id: last.id,
    before: first.before,
    after: last.after,
    undoable: first.undoable && isExact(first.before),
    unbroken: isUnbroken(changes),
  }
}

/**
 * Of several, those that something is left to do for. A memory that came with the run and was purged is gone already. An
 * index that says more by now is somebody's: it only gets and loses the lines of what comes and goes.
 */
function withoutSettled(plans: readonly Plan[], now: ReadonlyMap<string, string | undefined>): readonly Plan[] {
  const left = plans.filter(({ file, before, after, undoable }) => {
    if (isIndex(file)) return now.get(file) === after?.hash
    if (before !== undefined) return true
    return undoable || !isPurged({ before, after }) || now.get(file) !== undefined
  })
  return left.some(({ file }) => !isIndex(file)) ? left : plans
}

function conflictOf({ file, id, before, after, undoable, unbroken }: Plan, now: string | undefined): Conflict[] {
  const conflict = (problem: string) => [{ file, changeId: String(id), problem }]
  if (!undoable && isPurged({ before, after })) return conflict('cannot be put back: it was purged')
  if (!undoable) return conflict('cannot be put back: what was before is not kept as it was')
  if (!unbroken) return conflict('was changed by somebody in between')
  return now === after?.hash ? [] : conflict('was changed since')
}

function writeOf({ file, before, after }: Plan): Write {
  return { file, content: before?.text ?? null, expect: after?.hash ?? null, form: 'as-it-was' }
}

export function isPurged({ before, after }: Pick<Change, 'before' | 'after'>): boolean {
  return [before, after].some((version) => version !== undefined && version.text === undefined)
}

export function isUndoable(change: Change): boolean {
  return change.undoable && change.op !== 'refused' && !isIndex(change.file)
}
