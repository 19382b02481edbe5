/** Tells V8 to hold little more than what lives. One that does not know a flag goes on as it is. */
import { setFlagsFromString } from 'node:v8'

/**
 * By itself V8 holds 34 megabytes for what is dead a moment later, and lets a heap of fifteen grow to sixty before it looks
 * for what has died since. Not before the daemon is ready: what Node brings along compiled is only taken under its own flags.
 * Once more with each thread that has begun, which sets the first of them back.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=30')
  // Threads begin with what they may hold: they have no time to grow.
  setFlagsFromString('--min-semi-space-size=4')
  // What lives of so little is gone through before other threads are awake to help, and whoever asks meanwhile waits for them.
  setFlagsFromString('--no-parallel-scavenge')
}
