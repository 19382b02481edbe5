/** What can be searched for in one line of a transcript. Pure. */
import { adapterFor } from './adapters.ts'
import { indexedText } from './indexed-text.ts'

export function textAt(harness: string, line: string): string {
  const message = adapterFor(harness)
    .read(line)
    .find((fact) => fact.kind === 'message')
  return message ? indexedText(message) : ''
}
