import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { projectRoot } from '../support/sources.ts'
import { bash, killWhileKeeping, long } from '../support/tool-result-kills.ts'

/** Keeps one result in a process of its own that is killed right before the decision is written down. */
function killedBeforeTheRow(home: Home): void {
  const program = `
    import { createToolResults } from '${projectRoot}/daemon/context/tool-results.ts'
    import { openCore } from '${projectRoot}/daemon/core.ts'
    import { createClock } from '${projectRoot}/daemon/platform/clock.ts'
    import { loadSettings } from '${projectRoot}/daemon/settings/live-settings.ts'
    const places = ${JSON.stringify(home.places)}
    const settings = loadSettings(places.configFile, {}, places.home)
    const core = await openCore({ places, settings, env: {}, clock: createClock(), version: '', lastStop: 'clean' })
    core.db.history.function('kill', () => process.kill(process.pid, 'SIGKILL'))
    core.db.history.exec('CREATE TEMP TRIGGER killed BEFORE INSERT ON tool_results BEGIN SELECT kill(); END')
    const key = { harness: 'generic', sessionId: 's' }
    await createToolResults(core).keep(key, undefined, [${JSON.stringify(bash('t1'))}])`
  const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(signal).toBe('SIGKILL')
}

it('makes a pair of a result whose decision a kill had kept from being written', async () => {
  const home = makeHome()
  killedBeforeTheRow(home)
  const file = join(home.places.stateDir, 'tool-results', 's', 't1.txt')
  expect(readFileSync(file, 'utf8')).toBe(long('t1'))
  const { client } = await startDaemon(home)
  const ask = () => client.keepToolResults({ sessionId: 's', results: [bash('t1')] })
  const first = await ask()
  expect(first.results).toEqual([{ toolUseId: 't1', stored: true, path: file, content: expect.stringContaining(file) }])
  expect(await ask()).toEqual(first)
  expect(readFileSync(file, 'utf8')).toBe(long('t1'))
})

it('keeps every result it acknowledged, and the same bytes for it, however often it is killed', () =>
  killWhileKeeping(3))
