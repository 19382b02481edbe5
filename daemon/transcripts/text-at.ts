/** What one line of a transcript says: as it is searched for, and as it was said. Pure. */
import { adapterFor } from './adapters.ts'
import { indexedText } from './indexed-text.ts'
import type { Message } from './message.ts'

export function textAt(harness: string, line: string): string {
  const [message] = messagesAt(harness, line)
  return message ? indexedText(message) : ''
}

/** Who said what, without private spans and injected text, and which tools were called with it. */
export function messagesAt(harness: string, line: string): Message[] {
  return adapterFor(harness)
    .read(line)
    .filter((fact) => fact.kind === 'message')
}
