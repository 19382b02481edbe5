/** What a model writes in a run, put into the history of a daemon that is not running: nothing over the socket can do it. */
import { join } from 'node:path'
import { slugOf } from '../../daemon/locate/slug.ts'
import { createGate, type Gate } from '../../daemon/memory/gate.ts'
import { createJudge } from '../../daemon/memory/judge.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { redactSecrets } from '../../daemon/secrets/redact.ts'
import { createJournal } from '../../daemon/store/journal.ts'
import { openStore } from '../../daemon/store/store.ts'
import { createTombstones } from '../../daemon/store/tombstones.ts'
import type { Home } from './home.ts'

export async function writeAsModel(home: Home, work: (gate: Gate) => Promise<unknown>): Promise<void> {
  const clock = createClock()
  const store = openStore(home.places.stateDir, clock.now())
  try {
    const tombstones = createTombstones(store.history)
    const judge = createJudge({
      tombstones,
      redact: redactSecrets,
      teamEnabled: () => false,
      ofSameProject: (dir) => [dir],
    })
    const journal = createJournal(store.history)
    await work(createGate({ journal, judge, redact: redactSecrets, clock, onChange: () => {} }))
  } finally {
    store.close()
  }
}

/** Where the memories of a folder that is no repository are by default. */
export function memoryDirOf(home: Home, cwd: string): string {
  return join(home.dir, '.claude', 'projects', slugOf(cwd), 'memory')
}
