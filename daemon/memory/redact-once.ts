/** Takes credentials out of texts that are asked for again and again: looked through once, then known by their hash. */
import type { Redact } from './judge.ts'
import { hashOf } from './plain-file.ts'

/** Of an index, which may have a megabyte. */
const MOST_LONG = 8
/** Of names and reasons: every write has some, and mostly the same ones. */
const MOST_SHORT = 256
const SHORT_CHARS = 300

type Redacted = Awaited<ReturnType<Redact>>

/** Long texts come once, as a rule. */
export function redactShortOnce(redact: Redact): Redact {
  const once = remembered(redact, MOST_SHORT)
  return (text) => (text.length > SHORT_CHARS ? redact(text) : once(text))
}

export function redactOnce(redact: Redact): (text: string) => Promise<string> {
  const once = remembered(redact, MOST_LONG)
  return async (text) => (await once(text)).text
}

function remembered(redact: Redact, most: number): Redact {
  const kept = new Map<string, Redacted>()
  return async (text) => {
    if (text === '') return { text, kinds: [] }
    const key = hashOf(text)
    const clean = kept.get(key) ?? (await redact(text))
    // The map is in order of use.
    kept.delete(key)
    kept.set(key, clean)
    if (kept.size > most) kept.delete(kept.keys().next().value as string)
    return clean
  }
}
