/** Agents write to each other while the daemon and those who read are killed, and what became of every mail is checked. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { connect } from '../../client/index.ts'
import { MemoryError } from '../../schema/errors.ts'
import { launch } from './daemon.ts'
import { type Home, makeHome } from './home.ts'
import { seeded } from './seed.ts'

const program = fileURLToPath(new URL('./mail-reader.ts', import.meta.url))
/** Sixteen that ask without pause would keep the daemon from starting. */
const PAUSE_MS = 100
const AGENTS = Array.from({ length: 8 }, (_, n) => `agent-${n}`)

type Fact = { got?: { id: string; from: string; body: string }[]; acknowledged?: string[] }

/** `each`: what every agent writes. One process is killed for every so many mails that were taken in. */
export async function killWhileMailed(each: number, mailsForAKill: number): Promise<void> {
  const random = seeded(`kill -9 while ${AGENTS.length} agents write ${each} mails each`)
  const home = makeHome()
  const fileOf = (name: string) => join(home.dir, `${name}.jsonl`)
  const factsOf = (name: string): Fact[] => {
    const lines = existsSync(fileOf(name)) ? readFileSync(fileOf(name), 'utf8').split('\n') : []
    // The last line of a reader that was killed may be half a line.
    return lines.flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as Fact] : []))
  }
  let daemon = launch(home)
  await daemon.logged('memoryd is ready')
  const readers = new Map(AGENTS.map((name) => [name, beginReading(home, name, fileOf(name))]))
  const client = connect({ socket: home.places.socketPath, deadlineMs: 5_000, strict: true })
  onTestFinished(client.close)

  let sent = 0
  let tell = () => {}
  const progress = () => {
    sent++
    tell()
  }
  const writing = Promise.all(
    AGENTS.map(async (from, n) => {
      const written: { to: string; body: string }[] = []
      for (let count = 0; count < each; count++) {
        const to = AGENTS[(n + 1 + (count % (AGENTS.length - 1))) % AGENTS.length] as string
        const body = `${from} ${count}`
        while (!(await isSent(client.sendMail({ from, to, body })))) await delay(PAUSE_MS)
        written.push({ to, body })
        progress()
      }
      return written
    }),
  )
  const kills = { daemon: 0, reader: 0 }
  const all = each * AGENTS.length
  for (let next = mailsForAKill; next < all; next += mailsForAKill) {
    while (sent < next)
      await new Promise<void>((resolve) => {
        tell = resolve
      })
    // One of each in any case.
    if (kills.daemon === 0 || (kills.reader > 0 && random() < 0.5)) {
      kills.daemon++
      daemon.child.kill('SIGKILL')
      await daemon.exited
      daemon = launch(home)
    } else {
      kills.reader++
      const name = AGENTS[Math.floor(random() * AGENTS.length)] as string
      await readers.get(name)?.kill()
      readers.set(name, beginReading(home, name, fileOf(name)))
    }
  }
  const written = (await writing).flat()
  await daemon.logged('memoryd is ready')
  const bodiesOf = (name: string) => new Set(factsOf(name).flatMap(({ got = [] }) => got.map(({ body }) => body)))
  const missing = () => {
    const gotBy = new Map(AGENTS.map((name) => [name, bodiesOf(name)]))
    return written.filter(({ to, body }) => !gotBy.get(to)?.has(body))
  }
  const begun = performance.now()
  while (missing().length > 0 && performance.now() - begun < 20_000) await delay(50)
  expect(missing()).toEqual([])
  for (const reader of readers.values()) await reader.kill()

  let again = 0
  for (const name of AGENTS) {
    const gone = new Set<string>()
    const first = new Map<string, { id: number; from: string; count: number }>()
    for (const { got = [], acknowledged = [] } of factsOf(name)) {
      // Nothing that was acknowledged comes again.
      expect(got.filter(({ id }) => gone.has(id))).toEqual([])
      for (const id of acknowledged) gone.add(id)
      expect(got.map(({ id }) => Number(id))).toEqual(got.map(({ id }) => Number(id)).sort((a, b) => a - b))
      for (const { id, from, body } of got) {
        if (first.has(id)) again++
        else first.set(id, { id: Number(id), from, count: Number(body.split(' ')[1]) })
      }
    }
    // One that was sent twice, because its sender was never told that it had arrived, comes twice in a row.
    for (const from of AGENTS) {
      const counts = [...first.values()].filter((mail) => mail.from === from).map(({ count }) => count)
      expect(counts, `${from} to ${name}`).toEqual(counts.toSorted((a, b) => a - b))
    }
  }
  const left = await Promise.all(AGENTS.map((agent) => client.mail({ agent, limit: '999' })))
  const unread = left.flatMap(({ items }) => items.map(({ body }) => body))
  console.info(
    `${all} mails, ${JSON.stringify(kills)}, given again ${again}, not acknowledged at the end ${unread.length}`,
  )
  expect(kills.daemon).toBeGreaterThan(0)
  expect(kills.reader).toBeGreaterThan(0)
}

/** A daemon that is not there yet, or not any more, may be in a moment. */
async function isSent(sending: Promise<unknown>): Promise<boolean> {
  try {
    await sending
    return true
  } catch (error) {
    if (error instanceof MemoryError && ['UNREACHABLE', 'NOT_FOUND'].includes(error.code)) return false
    throw error
  }
}

function beginReading(home: Home, name: string, file: string) {
  const args = [program, home.places.socketPath, name, file]
  const child = spawn(process.execPath, args, {
    env: home.env as NodeJS.ProcessEnv,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()))
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    kill: () => {
      child.kill('SIGKILL')
      return exited
    },
  }
}
