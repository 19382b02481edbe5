/** Puts back what was before a change, or before all changes of a run: everything or nothing, as new changes. */
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Projects } from '../projects/projects.ts'
import { isIndex } from './file-names.ts'
import { inFolder, type MemoryFolder, readMemoryFile } from './folder.ts'
import { type Change, isExact, isMove, type Journal, newRunId } from './journal.ts'
import { type Author, isAgent, onlyForPersons, type Write, waitsForReview } from './write-checks.ts'
import type { Writer, Written } from './writer.ts'

type Conflict = { file: string; changeId: string; problem: string }

export function createUndo(core: Core, projects: Projects, writer: Writer, journal: Journal) {
  const mayBeAt = projects.isMemoryDir
  const undo = async (changes: readonly Change[], author: Author): Promise<Written[]> => {
    const effective = changes.filter(({ op, partOf }) => op !== 'refused' && partOf === undefined)
    const first = effective[0]
    if (!first) throw new MemoryError('NOT_FOUND', 'there is nothing to undo', { hint: 'run: memoryd history' })
    if (waitsForReview(core, author.actor) || (isAgent(author.actor) && effective.some(({ actor }) => !isAgent(actor))))
      throw onlyForPersons("an agent may not undo a person's change")
    const all = [...new Set(effective.map(({ file }) => file))].map((file) =>
      planFile(effective.filter((change) => change.file === file)),
    )
    const hashesNow = (folder: MemoryFolder) => new Map(all.map(({ file }) => [file, folder.read(file)?.hash]))
    const now = inFolder(first.dir, hashesNow, { mayBeAt })
    const plans = withoutSettled(all, now)
    const conflicts = plans.flatMap((plan) => conflictOf(plan, now.get(plan.file)))
    if (conflicts.length > 0)
      throw new MemoryError('CONFLICT', `${conflicts.map(({ file, problem }) => `${file} ${problem}`).join('; ')}`, {
        hint: 'nothing was undone; to see whether a later change is in the way: memoryd history',
        details: { conflicts },
      })
    const writes = [...plans.map(writeOf), ...indexWrites(effective, first.dir)]
    return writer.write(first.dir, writes, { ...author, op: 'undo' })
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
    const now = readMemoryFile(dir, last.file, { mayBeAt })?.hash
    if (now !== last.after?.hash || !isExact(before)) return []
    return [{ file: last.file, content: before?.text ?? null, expect: now, form: 'as-it-was' }]
  }

  return {
    change: async (id: number, actor: string): Promise<Written[]> => {
      const change = journal.get(id)
      if (!change) throw new MemoryError('NOT_FOUND', `there is no change ${id}`, { hint: 'run: memoryd history' })
      return undo([change], { actor, reason: `undo of change ${id}` })
    },
    run: async (runId: string, actor: string): Promise<{ runId: string; applied: Written[] }> => {
      // Undone like any other it would take the memories from the new place, and the old one has none to go back to.
      if (isMove(runId))
        throw new MemoryError('CONFLICT', `${runId} moved the memories of a project`, {
          hint: 'to go back: memoryd move <new root> <old root>',
        })
      const undoId = newRunId('undo', core.clock.now())
      const author = { actor, reason: `undo of run ${runId}`, runId: undoId }
      return { runId: undoId, applied: await undo(journal.ofRun(runId), author) }
    },
  }
}

function included(other: Change, changes: readonly Change[]): boolean {
  return other.op === 'refused' || other.partOf !== undefined || changes.some(({ id }) => id === other.id)
}

/** Whether each begins where the one before ended: otherwise another program made an edit in between. */
function isUnbroken(changes: readonly Change[]): boolean {
  return changes.every(({ before }, at) => at === 0 || before?.hash === changes[at - 1]?.after?.hash)
}

type Plan = ReturnType<typeof planFile>

/** Several changes of one file in a run are undone as one, from the state after the last to the one before the first. */
function planFile(changes: readonly Change[]) {
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

/** Without memories that were purged since, and without an index that was changed since, whose lines follow the memories. */
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
  if (!unbroken) return conflict('was changed by another program in between')
  if (now === after?.hash) return []
  return conflict(now === before?.hash ? 'is as it was before that already' : 'was changed since')
}

function writeOf({ file, before, after }: Plan): Write {
  return { file, content: before?.text ?? null, expect: after?.hash ?? null, form: 'as-it-was' }
}

export function isPurged({ before, after }: Pick<Change, 'before' | 'after'>): boolean {
  return [before, after].some((version) => version !== undefined && !version.inLines && version.text === undefined)
}

export function isUndoable(change: Change): boolean {
  return change.undoable && change.op !== 'refused' && !isIndex(change.file)
}
