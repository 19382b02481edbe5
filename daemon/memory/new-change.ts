/** A change as the journal keeps it: of a memory, and of the index that points to it. Pure. */
import type { NewChange } from '../store/journal.ts'
import { hashOf, isExact } from './plain-file.ts'
import type { IndexChange } from './upkeep.ts'
import type { By, Prepared } from './write.ts'

export function changeOf(dir: string, { write, before, beforeText, judged }: Prepared, by: By, at: number): NewChange {
  const { leaves = 'history' } = write
  const past = before && { hash: before.hash, text: leaves === 'nothing' ? undefined : beforeText }
  const after = judged && { hash: hashOf(judged.content), text: judged.content }
  const op = by.op ?? (!after ? 'delete' : before ? 'update' : 'create')
  // A credential was taken out of what is kept, or bytes were lost in reading it as text: it cannot be put back as it was.
  const undoable = leaves !== 'nothing' && isExact(past)
  const { actor, runId } = by
  const { reason, evidence = [] } = write.because ?? by
  return { at, dir, file: write.file, op, actor, reason, runId, before: past, after, undoable, evidence, leaves }
}

/** `clean`: hashes of indexes that hold no credential; the words of others are not kept. */
export function indexPart(owner: NewChange, { file, before, text }: IndexChange, clean: Set<string>): NewChange {
  const keep = clean.has(before?.hash ?? '')
  return {
    ...owner,
    leaves: 'history',
    file,
    op: before ? 'update' : 'create',
    before: before && { hash: before.hash, text: keep ? before.text : '' },
    after: { hash: hashOf(text), text: keep ? text : '' },
    undoable: keep && (before?.exact ?? true),
    evidence: [],
  }
}
