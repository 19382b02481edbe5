import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { connect } from '../../client/index.ts'
import { launch, startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { seeded } from '../support/seed.ts'
import { projectRoot } from '../support/sources.ts'

const long = (id: string) => `${id}\n${'A line of what a tool has printed.\n'.repeat(2_000)}`
const bash = (toolUseId: string) => ({ toolUseId, tool: 'Bash', content: long(toolUseId) })

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

it('keeps every result it acknowledged, and the same bytes for it, however often it is killed', async () => {
  const random = seeded('kill -9 while results are kept')
  const home = makeHome()
  const acknowledged = new Map<string, string>()
  const tried = new Set<string>()
  for (let round = 0; round < 6; round++) {
    const { child, exited, logged } = launch(home)
    await logged('memoryd is ready')
    let going = true
    let tell = () => {}
    const firstAnswer = new Promise<void>((resolve) => {
      tell = resolve
    })
    const callers = Array.from({ length: 3 }, async (_, caller) => {
      const client = connect({ socket: home.places.socketPath, deadlineMs: 5_000 })
      for (let n = 0; going; n++) {
        const id = `r${round}-${caller}-${n}`
        tried.add(id)
        const kept = await client.keepToolResults({ sessionId: 's', results: [bash(id)] })
        // It was killed: whatever is asked from now on was never tried.
        if (!kept) break
        acknowledged.set(id, kept.results[0]?.content as string)
        tell()
      }
      client.close()
    })
    await firstAnswer
    await delay(random() * 80)
    child.kill('SIGKILL')
    await exited
    going = false
    await Promise.all(callers)
  }
  expect(acknowledged.size).toBeGreaterThan(6)
  const { client, stop } = await startDaemon(home)
  const folder = join(home.places.stateDir, 'tool-results', 's')
  for (const id of tried) {
    const path = join(folder, `${id}.txt`)
    if (existsSync(path)) expect(readFileSync(path, 'utf8')).toBe(long(id))
    const { results } = await client.keepToolResults({ sessionId: 's', results: [bash(id)] })
    expect(results[0]?.content).toBe(acknowledged.get(id) ?? results[0]?.content)
    expect((await client.toolResult({ session: 's', id })).content).toBe(long(id))
  }
  await stop()
  expect(readdirSync(folder).filter((name) => !name.endsWith('.txt'))).toEqual([])
})
