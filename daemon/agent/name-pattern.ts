/** Patterns for names that a model wrote: only as large as one that somebody means, and made once for a call. Pure. */
import { compileGlob } from '../platform/glob.ts'
import { type Denied, quoted } from './denied.ts'

export type Fits = (path: string) => boolean

const CAP_CHARS = 500
const CAP_STARS = 20
const CAP_CHOICES = 100

export function namePattern(glob: string): { fits: Fits } | Denied {
  if (glob.length > CAP_CHARS) return { denied: `a pattern for names has at most ${CAP_CHARS} characters` }
  if ((glob.match(/\*+/g)?.length ?? 0) > CAP_STARS)
    return { denied: `${quoted(glob)} has more than ${CAP_STARS} stars; write it plainly` }
  if ((glob.match(/[{,]/g)?.length ?? 0) > CAP_CHOICES)
    return { denied: `${quoted(glob)} has more than ${CAP_CHOICES} choices; write it plainly` }
  return { fits: compileGlob(glob) }
}
