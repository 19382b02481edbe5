/** A process that lets many turns end in a project whose memories were put in order just now: what that costs can be seen. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCore } from '../../daemon/core.ts'
import { createDreamLock, LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { createDreams } from '../../daemon/dream/dream-table.ts'
import { createGates } from '../../daemon/dream/gates.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { createTouched, type Sessions } from '../../daemon/sessions/sessions.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import { findPlaces } from '../../schema/rendezvous.ts'

const [home = '', times = '0'] = process.argv.slice(2)
const dir = join(home, 'memory')
mkdirSync(dir)
writeFileSync(join(dir, LOCK_FILE), '')
const env = { HOME: home }
const places = findPlaces(env)
const settings = loadSettings(places.configFile, env, home)
const clock = createClock()
const core = await openCore({ places, settings, env, clock, version: 'test', lastStop: 'clean', terminal: undefined })
const dreams = createDreams(core.db.history)
/** Nothing else of them is asked for. */
const sessions = { touched: createTouched(core.db.index) } as Sessions
const lock = createDreamLock(core, dreams)
const gates = createGates(core, createProjects(core), sessions, dreams, lock)
process.stdout.write('begin\n')
for (let n = 0; n < Number(times); n++) {
  const { gate } = gates.check({ dir, root: home }, 'turn', { harness: 'h', sessionId: 's' })
  if (gate !== 'time') throw new Error(`stopped at ${gate}`)
}
process.stdout.write('end\n')
await core.stop(0)
