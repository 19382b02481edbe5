/** Kills a daemon while it takes in a memory set, or while one follows its project, and checks what the next one finds. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { connect, type StrictClient } from '../../client/index.ts'
import { header, inPieces, sealed, tree } from './carry.ts'
import { launch } from './daemon.ts'
import { type Home, makeHome } from './home.ts'
import { startDaemon } from './in-process.ts'
import { topic } from './memory.ts'
import { seeded } from './seed.ts'

const FILES = 15
const REJECTED = 'The moon is made of cheese'

/** Files, an index of the person's own making, a history as earlier versions exported it, and a rejection. */
function memorySet() {
  const names = Array.from({ length: FILES }, (_, n) => `memory_${n}.md`)
  const index = `# Mine\n\n${names.map((name) => `- [Number](${name}) — words of mine\n`).join('')}`
  const files = Object.fromEntries([
    ['MEMORY.md', index],
    ...names.map((name) => [name, topic(`${name} in version 2.`, name)]),
  ]) as Record<string, string>
  const value = createHash('sha256').update(REJECTED.toLowerCase()).digest('hex')
  const lines = [
    header,
    ...Object.entries(files).map(([file, content]) => ({ kind: 'file', file, content })),
    ...names.map((file) => ({ kind: 'change', at: header.at, file, op: 'create' })),
    { kind: 'tombstone', at: header.at, file: 'x.md', excerpt: REJECTED, values: [value] },
  ]
  return { bytes: Buffer.from(sealed(lines)), files }
}

async function startFor(home: Home) {
  const { child, exited, logged } = launch(home)
  await logged('memoryd is ready')
  const client = connect({ socket: home.places.socketPath, strict: true, actor: 'user', deadlineMs: 60_000 })
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
    client.close()
  }
  return { client, end }
}

/** What the next start finds needs no process of its own. */
async function startNext(home: Home) {
  const daemon = await startDaemon(home, { lastStop: 'unclean' })
  const client = connect({ socket: home.places.socketPath, strict: true, actor: 'user', deadlineMs: 60_000 })
  const end = async () => {
    client.close()
    await daemon.stop()
  }
  return { client, end }
}

/** Starts `work`, kills the daemon in the midst of it, and tells whether it was acknowledged all the same. */
async function killed(home: Home, afterMs: number, work: (client: StrictClient) => Promise<unknown>) {
  const daemon = await startFor(home)
  const acknowledged = work(daemon.client).then(
    () => true,
    () => false,
  )
  await delay(afterMs)
  await daemon.end('SIGKILL')
  return acknowledged
}

const historyOf = async (client: StrictClient, cwd: string) => {
  const { items } = await client.changes({ cwd, limit: '999' })
  return items.filter(({ op }) => op !== 'refused').length
}
const dirOf = async (client: StrictClient, cwd: string) => (await client.memories({ cwd })).dir
const contentOf = (dir: string) => (existsSync(dir) ? tree(dir) : {})

/** How long something takes here, so that kills fall before, during and after it. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

export async function killWhileImporting(rounds: number): Promise<void> {
  const random = seeded(`kill -9 while memories are imported, ${rounds} times`)
  const home = makeHome()
  const set = memorySet()
  const importInto = (client: StrictClient, cwd: string) => client.importMemories({ cwd, lines: inPieces(set.bytes) })
  const first = await startFor(home)
  const takesMs = await timed(() => importInto(first.client, join(home.dir, 'first')))
  await first.end('SIGTERM')
  const outcomes = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const cwd = join(home.dir, `project-${round}`)
    const acknowledged = await killed(home, random() * takesMs * 1.2, (client) => importInto(client, cwd))
    const { client, end } = await startNext(home)
    const files = contentOf(await dirOf(client, cwd))
    const { items: tombstones } = await client.tombstones()
    const came = Object.keys(files).length > 0
    outcomes.add(came ? 'came' : 'did not')
    if (acknowledged) expect(came).toBe(true)
    expect(files).toEqual(came ? set.files : {})
    expect(await historyOf(client, cwd)).toBe(came ? FILES + 1 : 0)
    expect(tombstones).toHaveLength(round + 1 + (came ? 1 : 0))
    expect(readdirSync(home.places.stateDir).filter((name) => name.endsWith('.tmp'))).toEqual([])
    await importInto(client, cwd)
    expect(contentOf(await dirOf(client, cwd))).toEqual(set.files)
    expect(await historyOf(client, cwd)).toBe(FILES + 1)
    await end()
  }
  // Few kills may all fall on one side.
  if (rounds > 50) expect([...outcomes].sort()).toEqual(['came', 'did not'])
}

export async function killWhileMoving(rounds: number): Promise<void> {
  const random = seeded(`kill -9 while memories follow their project, ${rounds} times`)
  const home = makeHome()
  const set = memorySet()
  const prepare = async (client: StrictClient, round: number) => {
    const [from, to] = ['old', 'new'].map((name) => join(home.dir, `${name}-${round}`)) as [string, string]
    mkdirSync(from)
    await client.importMemories({ cwd: from, lines: inPieces(set.bytes) })
    renameSync(from, to)
    return { from, to }
  }
  const first = await startFor(home)
  const before = await prepare(first.client, 0)
  const takesMs = await timed(() => first.client.moveProject(before))
  let next = await prepare(first.client, 1)
  await first.end('SIGTERM')
  for (let round = 1; round <= rounds; round++) {
    const { from, to } = next
    const acknowledged = await killed(home, random() * takesMs * 1.2, (client) => client.moveProject({ from, to }))
    const { client, end } = await startNext(home)
    const toDir = await dirOf(client, to)
    const fromDir = toDir.replace(/-new-(\d+)\/memory$/, '-old-$1/memory')
    const [old, now] = [contentOf(fromDir), contentOf(toDir)]
    const came = Object.keys(old).length === 0
    if (acknowledged) expect(came).toBe(true)
    expect({ old, now }).toEqual(came ? { old: {}, now: set.files } : { old: set.files, now: {} })
    if (!came) await client.moveProject({ from, to })
    expect(contentOf(toDir)).toEqual(set.files)
    expect(existsSync(fromDir)).toBe(false)
    expect((await client.changes({ cwd: to, file: 'memory_0.md' })).items.map(({ op }) => op)).toEqual(['create'])
    await expect(client.remember({ cwd: to, text: REJECTED })).rejects.toMatchObject({ reason: 'rejected-value' })
    next = await prepare(client, round + 1)
    await end()
  }
}
