/** Kills daemons at random moments and checks what they leave: the short count in `npm test`, the full one in `test:long`. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect } from '../../client/index.ts'
import { launch, startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { seeded } from './seed.ts'

/** How long a daemon needs to start here, roughly: kills fall before, during and after. */
const SPREAD_MS = 400

export async function killAndStartAgain(rounds: number): Promise<void> {
  const random = seeded(`kill -9 and start again, ${rounds} times`)
  const home = makeHome()
  const acknowledged = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const { child, exited } = launch(home)
    const client = connect({ socket: home.places.socketPath, deadlineMs: 1_000 })
    const writing = pauseMany(client, round, acknowledged)
    // Every other one is killed while it starts; the others must serve, and are killed while they write.
    if (round % 2 === 0) await writing.begun
    await delay(random() * SPREAD_MS)
    child.kill('SIGKILL')
    await exited
    await writing.stop()
    client.close()
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(rounds / 2)
  const daemon = await startDaemon(home)
  const { paused, state, errors } = await daemon.client.status()
  expect({ state, errors }).toEqual({ state: 'ready', errors: [] })
  expect([...acknowledged].filter((folder) => !paused.projects.includes(folder))).toEqual([])
  await daemon.stop()
  expect(readdirSync(home.places.stateDir).sort()).toEqual(['backups', 'daemon.lock', 'history.db', 'index.db', 'logs'])
  expect(readdirSync(join(home.places.stateDir, 'backups')).filter((name) => !name.endsWith('.db'))).toEqual([])
}

/** Writes as fast as the daemon answers, and notes what it acknowledged. */
function pauseMany(client: ReturnType<typeof connect>, round: number, acknowledged: Set<string>) {
  let going = true
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const run = async () => {
    for (let n = 0; going; n++) {
      const cwd = `/kill/${round}/${n}`
      if (await client.pause({ cwd })) {
        acknowledged.add(cwd)
        begin()
      } else await delay(5)
    }
  }
  const done = run()
  return {
    /** Resolves with the first acknowledgment. */
    begun,
    stop: () => {
      going = false
      return done
    },
  }
}

/** `count` daemons at the same moment: one serves, the others name it. */
export async function startTogether(count: number): Promise<void> {
  const home = makeHome()
  const all = Array.from({ length: count }, () => launch(home))
  const losers = await firstToExit(
    all.map(({ exited }) => exited),
    count - 1,
  )
  const winner = all.find(({ child }) => child.exitCode === null)
  expect(losers.map(({ code }) => code)).toEqual(Array(count - 1).fill(4))
  for (const { stderr } of losers) expect(stderr).toContain(`memoryd already runs: pid ${winner?.child.pid},`)
  await winner?.logged('memoryd is ready')
  const client = connect({ socket: home.places.socketPath, strict: true, deadlineMs: 10_000 })
  expect(await client.health()).toMatchObject({ pid: winner?.child.pid })
  client.close()
  winner?.child.kill('SIGTERM')
  expect(await winner?.exited).toMatchObject({ code: 0 })
}

function firstToExit<T>(exits: Promise<T>[], count: number): Promise<T[]> {
  return new Promise((resolve) => {
    const done: T[] = []
    for (const exit of exits)
      void exit.then((value) => {
        done.push(value)
        if (done.length === count) resolve(done)
      })
  })
}
