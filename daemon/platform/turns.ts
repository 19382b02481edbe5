/** For much work in small steps: whoever else waits gets a turn after so many characters of it. */
import { setImmediate as turn } from 'node:timers/promises'

/** A fraction of a millisecond, even where every rule looks at every one. */
const MOST_CHARS = 2_000

export function createTurns(): (chars: number) => Promise<void> {
  let since = 0
  return async (chars) => {
    since += chars
    if (since < MOST_CHARS) return
    since = 0
    await turn()
  }
}
