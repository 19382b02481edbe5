/** Takes credentials out of a text and leaves marks in their place. The patterns are loaded with the first text. */
import type { Redacted } from './detect.ts'

/** Raised with every change of what is taken for a credential: what was searched before is then searched again. */
export const PATTERNS = 1

let detect: typeof import('./detect.ts') | undefined

export async function redact(text: string): Promise<Redacted> {
  return redactSoon(text)
}

/** Without a promise where possible: for hundreds of thousands of short texts promises cost more than the patterns. */
export function redactSoon(text: string): Redacted | Promise<Redacted> {
  if (detect) return detect.redactText(text)
  return import('./detect.ts').then((loaded) => {
    detect = loaded
    return loaded.redactText(text)
  })
}
