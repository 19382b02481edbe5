/** The writer of memories over a state folder, without the rest of a daemon: for programs and for what a model would write. */
import { join } from 'node:path'
import { type Core, openCore } from '../../daemon/core.ts'
import { createJournal, type Journal } from '../../daemon/memory/journal.ts'
import { createReviews } from '../../daemon/memory/review.ts'
import { createTombstones } from '../../daemon/memory/tombstones.ts'
import { createWriteChecks } from '../../daemon/memory/write-checks.ts'
import { createWriter, type Writer } from '../../daemon/memory/writer.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { slugOf } from '../../daemon/projects/memory-dir.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import { findPlaces } from '../../schema/rendezvous.ts'
import type { Home } from './home.ts'

/** `journal`: one with a fault, say. `isMemoryDir`: what a directory may have become since. */
export function createTestWriter(core: Core, journal: Journal, isMemoryDir?: (dir: string) => boolean): Writer {
  const projects = { ...createProjects(core), ...(isMemoryDir && { isMemoryDir }) }
  const checks = createWriteChecks(core, projects, journal, createTombstones(core.db.history))
  return createWriter(core, projects, journal, createReviews(core.db.history), checks)
}

/** As a daemon would have it. `close` has to be called. */
export async function openWriter(stateDir: string) {
  const env = { HOME: join(stateDir, 'home'), MEMORYD_STATE_DIR: stateDir }
  const places = findPlaces(env)
  const core = await openCore({
    places,
    settings: loadSettings(places.configFile, env, places.home),
    env,
    clock: createClock(),
    version: '0.0.0-test',
    lastStop: 'clean',
    terminal: undefined,
  })
  const journal = createJournal(core.db.history)
  return { core, journal, writer: createTestWriter(core, journal), close: () => core.stop(0) }
}

/** What a model writes in a run, put into the history of a daemon that is not running: no route can do it. */
export async function writeAsModel(home: Home, work: (writer: Writer) => Promise<unknown>): Promise<void> {
  const { writer, close } = await openWriter(home.places.stateDir)
  try {
    await work(writer)
  } finally {
    await close()
  }
}

/** Where the memories of a folder that is no repository are by default. */
export function memoryDirOf(home: Home, cwd: string): string {
  return join(home.dir, '.claude', 'projects', slugOf(cwd), 'memory')
}
