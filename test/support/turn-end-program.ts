/** A process that lets many turns end in a project whose memories were put in order just now: what that costs can be seen. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDreamLock, LOCK_FILE } from '../../daemon/dream/dream-lock.ts'
import { createChecks } from '../../daemon/dream/gates.ts'
import { createClock } from '../../daemon/platform/clock.ts'

const [home = '', times = '0'] = process.argv.slice(2)
const dir = join(home, 'memory')
mkdirSync(dir)
writeFileSync(join(dir, LOCK_FILE), '')
const clock = createClock()
const checks = createChecks({
  lock: createDreamLock({ stateDir: home, clock, pid: process.pid, isDone: () => false }),
  touched: {
    count: () => {
      throw new Error('sessions were counted')
    },
  },
  failures: () => {
    throw new Error('failures were counted')
  },
  rootsOf: () => [home],
  offBecause: () => undefined,
  settings: () => ({ enabled: true, dailyLog: false, minHours: 24, minSessions: 5, scanMinutes: 10 }),
  isRemote: false,
  isRunning: () => false,
  pid: process.pid,
  clock,
})
process.stdout.write('begin\n')
for (let n = 0; n < Number(times); n++) {
  const { gate } = checks.check({ dir, root: home }, 'turn', { harness: 'h', sessionId: 's' })
  if (gate !== 'time') throw new Error(`stopped at ${gate}`)
}
process.stdout.write('end\n')
