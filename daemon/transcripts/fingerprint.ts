/** Fingerprints of a file's head and of what was read last: whether a place still holds the same bytes. Reads nothing itself. */
import { hash } from 'node:crypto'

/** Of so many bytes. Plain data: it is stored with the cursor. */
export type Fingerprint = { length: number; hash: string }

export const FINGERPRINT_BYTES = 4_096

export const EMPTY: Fingerprint = { length: 0, hash: '' }

export function fingerprintOf(bytes: Uint8Array): Fingerprint {
  return bytes.length === 0 ? EMPTY : { length: bytes.length, hash: hash('sha256', bytes, 'hex').slice(0, 32) }
}

/** Fewer bytes than were hashed never match. */
export function matches(expected: Fingerprint, bytes: Uint8Array): boolean {
  return bytes.length === expected.length && fingerprintOf(bytes).hash === expected.hash
}
