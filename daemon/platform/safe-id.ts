/** Ids that others choose (session, tool use, agent type) as names of ours: never a path, never too long. Pure. */
import { createHash } from 'node:crypto'

const SAFE = /^[A-Za-z0-9._-]{1,128}$/
const DOTS_ONLY = /^\.+$/

/** The id itself where it can be the name of a file, else its SHA-256 in hex. */
export function safeId(id: string): string {
  return SAFE.test(id) && !DOTS_ONLY.test(id) ? id : createHash('sha256').update(id).digest('hex')
}
