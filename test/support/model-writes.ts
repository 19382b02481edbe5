/** What a model writes in a run, put into the history of a daemon that is not running: nothing over the socket can do it. */
import { join } from 'node:path'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createJournal, type Journal } from '../../daemon/memory/journal.ts'
import { createTombstones } from '../../daemon/memory/tombstones.ts'
import { createJudge } from '../../daemon/memory/write-checks.ts'
import { createGate, type Gate } from '../../daemon/memory/writer.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { slugOf } from '../../daemon/projects/memory-dir.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import type { Home } from './home.ts'

export type OpenGate = { gate: Gate; journal: Journal; close(): void }

/** The gate over the databases of a state folder, as a daemon would have it. */
export function openGate(stateDir: string): OpenGate {
  const clock = createClock()
  const store = openDatabases(stateDir, clock.now())
  const tombstones = createTombstones(store.history)
  const judge = createJudge({
    tombstones,
    redact,
    teamEnabled: () => false,
    logsEnabled: () => false,
    ofSameProject: (dir) => [dir],
  })
  const journal = createJournal(store.history)
  const gate = createGate({ journal, judge, redact, clock, onChange: () => {} })
  return { gate, journal, close: store.close }
}

export async function writeAsModel(home: Home, work: (gate: Gate) => Promise<unknown>): Promise<void> {
  const { gate, close } = openGate(home.places.stateDir)
  try {
    await work(gate)
  } finally {
    close()
  }
}

/** Where the memories of a folder that is no repository are by default. */
export function memoryDirOf(home: Home, cwd: string): string {
  return join(home.dir, '.claude', 'projects', slugOf(cwd), 'memory')
}
