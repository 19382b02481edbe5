/** A change as the journal keeps it: of a memory, and of the index that points to it. Pure. */
import type { NewChange } from './journal.ts'
import { hashOf } from './plain-file.ts'
import type { IndexChange } from './upkeep.ts'
import type { By, Prepared } from './write.ts'

export function changeOf(dir: string, { write, before, beforeText, judged }: Prepared, by: By, at: number): NewChange {
  const { leaves = 'history' } = write
  const exact = !before || (before.exact && before.text === beforeText)
  const past = before && { hash: before.hash, text: leaves === 'nothing' ? undefined : beforeText, exact }
  const after = judged && { hash: hashOf(judged.content), text: judged.content, exact: true }
  const op = by.op ?? (!after ? 'delete' : before ? 'update' : 'create')
  // A credential was taken out of what is kept, or bytes were lost in reading it as text: it cannot be put back as it was.
  const undoable = leaves !== 'nothing' && exact
  const { actor, runId } = by
  const { reason, evidence = [] } = write.because ?? by
  return { at, dir, file: write.file, op, actor, reason, runId, before: past, after, undoable, evidence, leaves }
}

/** `clean`: hashes of indexes that hold no credential; the words of others are not kept. */
export function indexPart(owner: NewChange, index: IndexChange, clean: Set<string>): NewChange {
  const { file, before, text, bytes } = index
  const keep = clean.has(before?.hash ?? '')
  return {
    ...owner,
    leaves: 'history',
    file,
    op: before ? 'update' : 'create',
    before: before && { hash: before.hash, text: keep ? before.text : '', exact: keep && before.exact },
    after: { hash: hashOf(bytes), ...(keep ? { text, bytes, exact: true } : { text: '', exact: false }) },
    undoable: keep && (before?.exact ?? true),
    evidence: [],
  }
}
