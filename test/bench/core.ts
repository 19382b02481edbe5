/** A core with a state folder of its own, for rows that measure one service. */
import { mkdirSync } from 'node:fs'
import { openCore } from '../../daemon/core.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import { findPlaces } from '../../schema/rendezvous.ts'

export function benchCore(home: string) {
  const env = { HOME: home, PATH: '/usr/bin:/bin' }
  const places = findPlaces(env)
  mkdirSync(places.stateDir, { recursive: true })
  const settings = loadSettings(places.configFile, env, home)
  const clock = createClock()
  return openCore({ places, settings, env, clock, version: '', lastStop: 'clean', terminal: undefined })
}
