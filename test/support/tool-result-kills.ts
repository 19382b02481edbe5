/** Kills a daemon while it keeps long results of tools, and checks that what it acknowledged is there, with the same bytes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect } from '../../client/index.ts'
import { launch } from './daemon.ts'
import { makeHome } from './home.ts'
import { startDaemon } from './in-process.ts'
import { seeded } from './seed.ts'

export const long = (id: string) => `${id}\n${'A line of what a tool has printed.\n'.repeat(2_000)}`
export const bash = (toolUseId: string) => ({ toolUseId, tool: 'Bash', content: long(toolUseId) })

export async function killWhileKeeping(rounds: number): Promise<void> {
  const random = seeded(`kill -9 while results are kept, ${rounds} times`)
  const home = makeHome()
  const acknowledged = new Map<string, string>()
  const tried = new Set<string>()
  for (let round = 0; round < rounds; round++) {
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
  expect(acknowledged.size).toBeGreaterThanOrEqual(rounds)
  const { client, stop } = await startDaemon(home, { lastStop: 'unclean' })
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
}
