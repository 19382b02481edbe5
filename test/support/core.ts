/** A real core in a temporary HOME, with the test's clock: what services are made from in tests. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Core, openCore } from '../../daemon/core.ts'
import { loadSettings } from '../../daemon/settings/live-settings.ts'
import type { Environment } from '../../schema/rendezvous.ts'
import { manualTime } from './clock.ts'
import { makeHome } from './home.ts'

type Options = {
  /** As in the configuration file. */
  settings?: Record<string, unknown>
  env?: Environment
  home?: ReturnType<typeof makeHome>
  time?: ReturnType<typeof manualTime>
}

/** Opened again with the same home and time, it is the daemon after a restart. */
export async function testCore({ settings, env, home = makeHome(), time = manualTime() }: Options = {}) {
  const { places } = home
  if (settings) {
    mkdirSync(dirname(places.configFile), { recursive: true })
    writeFileSync(places.configFile, JSON.stringify(settings), { mode: 0o600 })
  }
  const environment = { ...home.env, ...env }
  const core: Core = await openCore({
    places,
    settings: loadSettings(places.configFile, environment, places.home),
    env: environment,
    clock: time.clock,
    version: '0.0.0-test',
    lastStop: 'clean',
    terminal: undefined,
  })
  onTestFinished(async () => {
    await core.stop(0)
  })
  return { core, home, time, places }
}
