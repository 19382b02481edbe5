/** Keeps writes from going over what whoever writes has not seen. Pure. */
import { MemoryError } from '../../schema/errors.ts'
import type { Present } from './folder.ts'
import type { Tip } from './journal.ts'
import { isAgent } from './people.ts'
import type { By, Write } from './write.ts'

/** What is there, and the last change of it that the journal knows. */
type Facts = { write: Write; by: By; before: Present | undefined; latest: Tip | undefined }

/** A person's word stands until whoever writes has seen it. */
export function guard({ write: { file, expect, content }, by, before, latest }: Facts): void {
  const conflict = (message: string) =>
    new MemoryError('CONFLICT', message, {
      hint: 'read the current content, then send its hash as ifHash',
      details: { current: before ? { hash: before.hash, content: before.text } : null },
    })
  if (expect === null && before) throw conflict(`${file} exists already`)
  if (typeof expect === 'string' && before?.hash !== expect) throw conflict(`${file} is not what it was`)
  if (expect !== undefined || !before || !isAgent(by.actor) || content === before.text) return
  const isOwn = latest?.hash === before.hash && isAgent(latest.actor)
  // Who added a line to an index has not seen the rest of it.
  const byPerson = !isOwn || latest.partOf !== undefined
  if (byPerson) throw conflict(`${file} was last changed by a person, and this write does not say it has seen that`)
}
