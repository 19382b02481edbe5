/**
 * Notices when a server did not read from its cache what an earlier job had it write: compares what was sent with what is
 * sent now, and what was expected with what was used. A break that was announced is no news. Keeps hashes, never text.
 */
import type { Usage } from '../models/wire.ts'
import type { Clock } from '../platform/clock.ts'
import type { Part, Prefix } from './prefix.ts'

export type Expectation = {
  /** How many parts the last job of this prefix had sent. */
  since: number
  tokens: number
  /** Why less may be read than that. */
  because: string | undefined
  /** The first part that is not what it was. */
  changed: string | undefined
}

export type CacheVerdict =
  | { cache: 'cold' | 'read' }
  | { cache: 'expected-break'; because: string }
  | { cache: 'break'; expectedTokens: number; readTokens: number; changed: string | undefined }

type Sent = { parts: readonly Part[]; tokens: number; keptMs: number; atMs: number; wallMs: number }

const CAP_SESSIONS = 1_000
/** Servers round, and cache in steps. */
const TOLERATED = 0.95

export type CacheWatch = ReturnType<typeof createCacheWatch>

export function createCacheWatch(clock: Clock) {
  const sent = new Map<string, Sent>()
  const announced = new Map<string, string>()
  // A server keeps what it caches apart for each model.
  const nameOf = ({ key, kind, model }: Prefix) => JSON.stringify([key, kind, model])
  return {
    /** Says beforehand that the prefix of a session will not be what it was: it was compacted, for one. */
    announce: (key: string, because: string): void => {
      for (const name of sent.keys()) if (JSON.parse(name)[0] === key) announced.set(name, because)
    },
    expect: (prefix: Prefix): Expectation => {
      const name = nameOf(prefix)
      const last = sent.get(name)
      if (!last) return { since: 0, tokens: 0, because: undefined, changed: undefined }
      const at = last.parts.findIndex((part, n) => prefix.parts[n]?.hash !== part.hash)
      const changed = at < 0 ? undefined : (last.parts[at] as Part).name
      // The monotonic clock misses a suspend, the wall clock may be set back.
      const age = Math.max(clock.elapsed() - last.atMs, clock.now() - last.wallMs)
      const because = announced.get(name) ?? (age >= last.keptMs ? 'too long ago' : undefined)
      return { since: at < 0 ? last.parts.length : 0, tokens: last.tokens, because, changed }
    },
    /** `used`: by the first call of a run. */
    compare: (prefix: Prefix, { tokens, because, changed }: Expectation, used: Usage): CacheVerdict => {
      const name = nameOf(prefix)
      announced.delete(name)
      sent.delete(name)
      sent.set(name, {
        parts: prefix.parts,
        tokens: used.cacheRead + used.cacheWrite,
        keptMs: prefix.keptMs,
        atMs: clock.elapsed(),
        wallMs: clock.now(),
      })
      if (sent.size > CAP_SESSIONS) sent.delete(sent.keys().next().value as string)
      if (tokens === 0) return { cache: used.cacheRead > 0 ? 'read' : 'cold' }
      if (used.cacheRead >= TOLERATED * tokens) return { cache: 'read' }
      if (because !== undefined) return { cache: 'expected-break', because }
      return { cache: 'break', expectedTokens: tokens, readTokens: used.cacheRead, changed }
    },
  }
}
