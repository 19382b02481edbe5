import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'
import { type Telling, tell } from '../transcripts/telling.ts'
import type { Installed } from './install.ts'
import { type LiveClient, liveClients, PROBE, type Tool } from './live-clients.ts'
import { repository } from './repository.ts'
import { noteWrites } from './writes.ts'

const MOST_MS = 1_000
const TURNS: readonly Tool[] = ['no tool', 'tool', 'no tool']
const answersIn = (tool: Tool) => (tool === 'tool' ? 2 : 1)
const ANSWERS = TURNS.reduce((sum, tool) => sum + answersIn(tool), 0)
const PLAIN_TURNS = 100

/** Where each line that ends a turn ends. */
function endsOf(path: string, endsTurn: LiveClient['endsTurn']): number[] {
  let end = 0
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => {
      end += Buffer.byteLength(line) + 1
      return line !== '' && endsTurn(JSON.parse(line)) ? [end] : []
    })
}

/** Below the root, of which it is the only one. */
function transcriptIn(root: string): string {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.jsonl'))
  expect(names).toHaveLength(1)
  return names[0] ?? ''
}

/** The clock is the client's own. */
function withoutTimes({ turns, ...rest }: Telling): Telling {
  return {
    ...rest,
    turns: turns.map(([head = '', ...said]) => [
      head.replace(/ \d\d:\d\d:\d\d\.\d{3} \d\d:\d\d:\d\d\.\d{3}/, ''),
      ...said,
    ]),
  }
}

describe.each(liveClients)('a session of $harness', (client) => {
  const { harness, usage } = client
  let installed: Installed
  beforeAll(async () => {
    installed = await client.install()
    if ('missing' in installed) console.warn(`skipped, ${installed.missing}`)
  })
  afterAll(() => {
    if ('remove' in installed) installed.remove()
  })

  it('is known turn by turn within a second, with who said what', async ({ skip }) => {
    if ('missing' in installed) return skip(installed.missing)
    const home = makeHome()
    const project = repository(home, 'project')
    const cwd = join(project, 'src')
    mkdirSync(cwd)
    const { say, run, asked } = await client.open(installed.program, home)
    const root = join(home.dir, client.root)
    const writes = noteWrites(root)
    const daemon = await startDaemon(home)
    const events = await turnEvents(daemon.client)
    let id: string | undefined
    for (const [n, tool] of TURNS.entries()) {
      say(`answer ${n}`, tool)
      const told = events.take(1).then((turns) => ({ turns, atMs: Date.now() }))
      await run(`question ${n}`, cwd, id)
      const overMs = Date.now()
      const { turns, atMs } = await told
      id = turns[0]?.sessionId
      expect(turns).toEqual([
        { type: 'turn', at: expect.any(String), harness, sessionId: id, end: 'final', cwd, project },
      ])
      const { turnList } = await daemon.client.session({ id: `${id}` })
      const shownMs = Date.now()
      expect(turnList[n]).toMatchObject({ end: 'final', prompt: `question ${n}` })
      const path = join(root, transcriptIn(root))
      const writtenMs = writes.writtenAt(path, endsOf(path, client.endsTurn)[n] as number)
      const since = (ms: number) => `${Math.round(ms - writtenMs)} ms`
      console.info(
        `${harness}, turn ${n + 1}: after its last line was written, it was announced in ${since(atMs)} and shown in ${since(shownMs)}; the client ended in ${since(overMs)}`,
      )
      expect(Math.max(atMs, shownMs) - writtenMs).toBeLessThan(MOST_MS)
    }

    const path = transcriptIn(root)
    const raw = readFileSync(join(root, path), 'utf8')
    expect(withoutTimes(tell(harness, raw, { path }))).toEqual({
      session: { sessionId: id, ...client.session(cwd) },
      turns: TURNS.map((tool, n) => [
        `final${tool === 'tool' ? ', 1 calls' : ''}, ${usage(answersIn(tool))}, ${cwd}`,
        `person: question ${n}`,
        ...(tool === 'tool' ? client.toolTold : []),
        `agent: answer ${n}`,
      ]),
      usage: usage(ANSWERS),
    })
    const times = { startedAt: expect.any(String), endedAt: expect.any(String) }
    const listed = {
      id,
      harness,
      cwd,
      project,
      startedAt: expect.any(String),
      lastAt: expect.any(String),
      turns: TURNS.length,
      tokens: ANSWERS * client.tokensPerAnswer,
      gone: false,
    }
    expect(await daemon.client.sessions({ cwd })).toEqual({ items: [listed] })
    expect(await daemon.client.session({ id: `${id}` })).toEqual({
      ...listed,
      turnList: TURNS.map((tool, n) => ({
        ...times,
        end: 'final',
        startedBy: 'person',
        prompt: `question ${n}`,
        toolCalls: tool === 'tool' ? 1 : 0,
      })),
    })
    const found = async (q: string) =>
      (await daemon.client.search({ cwd, q })).items.map(({ role, snippet }) => `${role}: ${snippet}`)
    expect((await found('"question 1"')).map((line) => line.slice(0, 18))).toEqual(['person: question 1'])
    expect(JSON.stringify(asked())).toContain(PROBE)
    expect(raw).toContain(PROBE)
    expect(await found(`"${PROBE}"`)).toEqual([])
    expect(await events.take(0)).toEqual([])
    const { roots, ingest, state, errors } = await daemon.client.status()
    expect({ roots: roots.filter((one) => one.harness === harness), ingest, state, errors }).toEqual({
      roots: [{ path: root, harness, state: 'watching' }],
      ingest: { lagBytes: 0, skipped: {} },
      state: 'ready',
      errors: [],
    })
    await daemon.stop()
  })
})

it(`${PLAIN_TURNS} turns written by hand are announced within a second each`, async () => {
  const home = makeHome()
  const file = join(genericRoot(home), 's.jsonl')
  const daemon = await startDaemon(home)
  const events = await turnEvents(daemon.client)
  append(file, { type: 'session', id: 's', cwd: home.dir }, ...turn('first'))
  await events.take(1)
  const tookMs: number[] = []
  for (let n = 0; n < PLAIN_TURNS; n++) {
    const startedMs = performance.now()
    append(file, ...turn(`${n}`))
    await events.take(1)
    tookMs.push(performance.now() - startedMs)
  }
  const sorted = tookMs.toSorted((a, b) => a - b).map(Math.round)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]
  console.info(`${PLAIN_TURNS} turns by hand: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`)
  expect(at(1)).toBeLessThan(MOST_MS)
  await daemon.stop()
})
