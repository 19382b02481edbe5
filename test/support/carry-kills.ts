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
import { topic } from './memory.ts'
import { seeded } from './seed.ts'

const FILES = 15
const REJECTED = 'The moon is made of cheese'

/** Files with two earlier versions each, an index of the person's own making, and a rejection. */
function memorySet() {
  const names = Array.from({ length: FILES }, (_, n) => `memory_${n}.md`)
  const index = `# Mine\n\n${names.map((name) => `- [Number](${name}) — words of mine\n`).join('')}`
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const version = (text: string) => ({ hash: sha256(text), text: sha256(text) })
  const lines: unknown[] = [header, { kind: 'file', file: 'MEMORY.md', content: index }]
  for (const file of names) {
    const [first, second] = [1, 2].map((n) => topic(`${file} in version ${n}.`, file)) as [string, string]
    const change = { kind: 'change', at: header.at, file, undoable: true, actor: 'user', reason: 'x', evidence: [] }
    lines.push({ kind: 'file', file, content: second })
    for (const text of [first, second]) lines.push({ kind: 'text', key: sha256(text), text })
    lines.push({ ...change, op: 'create', before: null, after: version(first), parts: [] })
    lines.push({ ...change, op: 'update', before: version(first), after: version(second), parts: [] })
  }
  const value = sha256(REJECTED.toLowerCase())
  lines.push({ kind: 'tombstone', at: header.at, file: 'x.md', excerpt: REJECTED, values: [value] })
  const files = Object.fromEntries(
    lines.flatMap((line) => {
      const { kind, file, content } = line as { kind: string; file: string; content: string }
      return kind === 'file' ? [[file, content]] : []
    }),
  )
  return { bytes: Buffer.from(sealed(lines)), files, changes: 2 * FILES }
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
    const { client, end } = await startFor(home)
    const files = contentOf(await dirOf(client, cwd))
    const { items: tombstones } = await client.tombstones()
    const came = Object.keys(files).length > 0
    outcomes.add(came ? 'came' : 'did not')
    if (acknowledged) expect(came).toBe(true)
    expect(files).toEqual(came ? set.files : {})
    expect(await historyOf(client, cwd)).toBe(came ? set.changes + FILES + 1 : 0)
    expect(tombstones).toHaveLength(round + 1 + (came ? 1 : 0))
    expect(readdirSync(home.places.stateDir).filter((name) => name.endsWith('.tmp'))).toEqual([])
    await importInto(client, cwd)
    expect(contentOf(await dirOf(client, cwd))).toEqual(set.files)
    expect(await historyOf(client, cwd)).toBe(set.changes + FILES + 1)
    await end('SIGTERM')
  }
  // Few kills may all fall on one side.
  if (rounds > 50) expect([...outcomes].sort()).toEqual(['came', 'did not'])
}

export async function killWhileMoving(rounds: number): Promise<void> {
  const random = seeded(`kill -9 while memories follow their project, ${rounds} times`)
  const home = makeHome()
  const set = memorySet()
  const own = { 'own.md': topic('Of its own.', 'Own') }
  /** Every other project finds memories in its new place. */
  const prepare = async (client: StrictClient, round: number) => {
    const [from, to] = ['old', 'new'].map((name) => join(home.dir, `${name}-${round}`)) as [string, string]
    mkdirSync(from)
    await client.importMemories({ cwd: from, lines: inPieces(set.bytes) })
    renameSync(from, to)
    if (round % 2 === 1) await client.putMemory({ cwd: to, file: 'own.md', content: own['own.md'] })
    return { from, to, joins: round % 2 === 1 }
  }
  const first = await startFor(home)
  const takesMs: number[] = []
  for (const round of [-2, -1]) {
    const { from, to } = await prepare(first.client, -round - 1)
    takesMs.push(await timed(() => first.client.moveProject({ from, to })))
  }
  let next: Awaited<ReturnType<typeof prepare>> = await prepare(first.client, 2)
  await first.end('SIGTERM')
  for (let round = 2; round < rounds + 2; round++) {
    const { from, to, joins } = next
    const wait = random() * (takesMs[round % 2] as number) * 1.2
    const acknowledged = await killed(home, wait, (client) => client.moveProject({ from, to }))
    const { client, end } = await startFor(home)
    const toDir = await dirOf(client, to)
    const fromDir = toDir.replace(/-new-(\d+)\/memory$/, '-old-$1/memory')
    const { 'MEMORY.md': _old, ...old } = contentOf(fromDir)
    const { 'MEMORY.md': _now, ...now } = contentOf(toDir)
    const { 'MEMORY.md': _index, ...memories } = set.files
    const came = Object.keys(old).length === 0
    if (acknowledged) expect(came).toBe(true)
    expect({ old, now }).toEqual({
      old: came ? {} : memories,
      now: { ...(joins ? own : {}), ...(came ? memories : {}) },
    })
    if (!came) await client.moveProject({ from, to })
    expect(contentOf(toDir)).toMatchObject(memories)
    expect(existsSync(fromDir)).toBe(false)
    expect((await client.changes({ cwd: to, file: 'memory_0.md' })).items.map(({ op }) => op)).toEqual(
      joins ? ['create', 'create', 'update', 'create'] : ['create', 'update', 'create'],
    )
    await expect(client.remember({ cwd: to, text: REJECTED })).rejects.toMatchObject({ reason: 'rejected-value' })
    next = await prepare(client, round + 1)
    await end('SIGTERM')
  }
}
