/** A refusal as it is told and as the journal keeps it: that something was turned down and why, never what it said. */
import { MemoryError } from '../../schema/errors.ts'
import type { NewChange } from './journal.ts'
import { nameWithoutCredential, type Redact } from './judge.ts'
import type { By } from './write.ts'

const FILE_CHARS = 600
const REASON_CHARS = 500

export function isRefusal(error: unknown): error is MemoryError {
  return error instanceof MemoryError && error.code === 'REFUSED'
}

export function whyRefused({ reason, message }: MemoryError): string {
  return `${reason}: ${message}`
}

type Refused = { at: number; dir: string; file: string; why: string; by: Pick<By, 'actor' | 'runId'> }

export async function refusalOf({ at, dir, file, why, by }: Refused, redact: Redact): Promise<NewChange> {
  const name = await nameWithoutCredential(file, redact)
  // A message shows a long name cut short, and half a credential is not recognised.
  const told = name === file ? why : 'secret: the name of the file seems to hold a credential'
  return {
    at,
    dir,
    file: name.slice(0, FILE_CHARS),
    op: 'refused',
    actor: by.actor,
    reason: (await redact(told)).text.slice(0, REASON_CHARS),
    runId: by.runId,
    before: undefined,
    after: undefined,
    undoable: false,
    evidence: [],
  }
}
