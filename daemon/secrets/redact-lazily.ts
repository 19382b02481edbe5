/** Takes credentials out, at once where that can be. What it takes is loaded with the first text: it would cost every start. */
import type { Redacted } from './redact.ts'

type Redact = (text: string) => Redacted | Promise<Redacted>

export function redactLazily(): Redact {
  let loaded: Redact | undefined
  return (text) => {
    if (loaded) return loaded(text)
    return import('./redact.ts').then(({ redactSoon }) => {
      loaded = redactSoon
      return redactSoon(text)
    })
  }
}
