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
  if (secrets === 'later') return redactSecrets(text)
  return secrets.length === 0 ? { text, kinds: [] } : redactFound(text, secrets)
}

export async function redactSecrets(text: string): Promise<Redacted> {
  return redactFound(text, await findSecrets(text))
}

/** `found`: what the first round found. */
async function redactFound(text: string, found: Secret[]): Promise<Redacted> {
  const kinds = new Set<Kind>()
  let clean = text
  let secrets = found
  for (let round = 1; secrets.length > 0; round++) {
    for (const { kind } of secrets) kinds.add(kind)
    clean = replace(clean, secrets)
    secrets = round < MAX_ROUNDS ? await findSecrets(clean) : []
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
