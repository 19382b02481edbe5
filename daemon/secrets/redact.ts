/** Takes credentials out of a text, leaving a mark that says what was there. */
import { findNow, findSecrets } from './find.ts'
import { type Kind, markOf } from './kinds.ts'
import type { Secret } from './ranges.ts'

export type Redacted = { text: string; kinds: Kind[] }

/** What was hidden by its neighbour shows once that is gone; a text that needs more rounds was built to need them. */
const MAX_ROUNDS = 12

/** At once where that can be; whoever has a hundred thousand short texts would wait longer for promises than for rules. */
export function redactSoon(text: string): Redacted | Promise<Redacted> {
  const secrets = findNow(text)
  return secrets !== 'later' && secrets.length === 0 ? { text, kinds: [] } : redactSecrets(text)
}

export async function redactSecrets(text: string): Promise<Redacted> {
  const kinds = new Set<Kind>()
  let clean = text
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const secrets = await findSecrets(clean)
    if (secrets.length === 0) break
    for (const { kind } of secrets) kinds.add(kind)
    clean = replace(clean, secrets)
  }
  return { text: clean, kinds: [...kinds].sort() }
}

function replace(text: string, secrets: Secret[]): string {
  let from = 0
  const parts = secrets.flatMap(({ kind, start, end }) => {
    const before = text.slice(from, start)
    from = end
    return [before, markOf(kind)]
  })
  return [...parts, text.slice(from)].join('')
}
