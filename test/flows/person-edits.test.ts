import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { connectAs } from '../support/connect-as.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { memoryDirOf, writeAsModel } from '../support/writer.ts'

const BY_AGENT = topic('As the agent saw it.')
const NEXT = topic('As the agent would have it.')
const BY_PERSON = topic('As the person put it.', 'My own words')
const INDEX = '# Mine\n\n- [My own words](a.md) — in my order\n- [Other](other.md) — and my words\n'

type Ground = { person: StrictClient; agent: StrictClient; cwd: string; path: (file: string) => string }

/** What an agent can try without having seen the edit. Each gets ready while the file is still the agent's own. */
const attempts: [string, (ground: Ground) => Promise<() => Promise<unknown>>][] = [
  ['a write that says nothing of what it has seen', async (g) => () => put(g, {})],
  ['a write that takes the file for new', async (g) => () => put(g, { ifHash: null })],
  [
    'a write from what was there before',
    async (g) =>
      (
        ({ hash }) =>
        () =>
          put(g, { ifHash: hash })
      )(await seen(g)),
  ],
  [
    'a deletion',
    async ({ agent, cwd }) =>
      () =>
        agent.forget({ cwd, file: 'a.md' }),
  ],
  [
    'a deletion of what was there before',
    async (g) =>
      (
        ({ hash }) =>
        () =>
          g.agent.forget({ cwd: g.cwd, file: 'a.md', ifHash: hash })
      )(await seen(g)),
  ],
  [
    'an undo of its own change',
    async ({ agent, cwd }) => {
      const { items } = await agent.changes({ cwd, file: 'a.md', limit: '1' })
      return () => agent.undoChange({ id: items[0]?.id ?? '' })
    },
  ],
  [
    'an undo of its own run',
    async ({ agent }) =>
      () =>
        agent.undoRun({ id: 'run' }),
  ],
]

const put = ({ agent, cwd }: Ground, seen: { ifHash?: string | null }) =>
  agent.putMemory({ cwd, file: 'a.md', content: NEXT, ...seen })
const seen = ({ agent, cwd }: Ground) => agent.memory({ cwd, file: 'a.md' })

/** The ways a person has. */
const edits: [string, (ground: Ground) => Promise<unknown>][] = [
  ['through memoryd', ({ person, cwd }) => person.putMemory({ cwd, file: 'a.md', content: BY_PERSON })],
  ['in an editor', async ({ path }) => writeFileSync(path('a.md'), BY_PERSON)],
]

async function open(config: object = {}) {
  const home = makeHome()
  writeFileSync(home.places.configFile, JSON.stringify(config))
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const dir = memoryDirOf(home, cwd)
  await writeAsModel(home, (writer) =>
    writer.write(dir, [{ file: 'a.md', content: BY_AGENT }], { actor: 'agent:test', reason: 'x', runId: 'run' }),
  )
  const clients = { person: connectAs(home, 'user'), agent: connectAs(home, 'agent:test') }
  const ground = { ...clients, cwd, path: (file: string) => join(dir, file) }
  return { start: () => startDaemon(home), startToKill: () => startProcess(home), ground }
}

describe("a person's newer edit", () => {
  for (const [where, edit] of edits)
    it(`made ${where} is never overwritten by an agent that has not seen it, before or after a restart`, async () => {
      const { start, startToKill, ground } = await open()
      const daemon = await startToKill()
      const ready = await Promise.all(attempts.map(async ([name, prepare]) => [name, await prepare(ground)] as const))
      await edit(ground)
      const outcomes = async () => {
        const found: Record<string, string> = {}
        for (const [name, attempt] of ready)
          found[name] = await attempt().then(
            () => 'done',
            ({ code }: { code: string }) => code,
          )
        return found
      }
      const all = Object.fromEntries(attempts.map(([name]) => [name, 'CONFLICT']))
      expect(await outcomes()).toEqual(all)
      await daemon.kill9()
      await start()
      expect(await outcomes()).toEqual(all)
      expect(readFileSync(ground.path('a.md'), 'utf8')).toBe(BY_PERSON)

      const { hash, content } = await seen(ground)
      expect(content).toBe(BY_PERSON)
      await put(ground, { ifHash: hash })
      expect(readFileSync(ground.path('a.md'), 'utf8')).toBe(NEXT)
    })

  it.each(edits)('made %s stands against a change that waited for review', async (_where, edit) => {
    const { start, ground } = await open({ review: 'required' })
    const { person, agent, cwd, path } = ground
    const daemon = await start()
    const update = await agent.putMemory({ cwd, file: 'a.md', content: NEXT })
    const deletion = await agent.forget({ cwd, file: 'a.md' })
    await edit(ground)
    const expectConflicts = async () => {
      for (const { reviewId: id = '' } of [update, deletion])
        await expect(person.decideReview({ id, decision: 'approve' })).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(readFileSync(path('a.md'), 'utf8')).toBe(BY_PERSON)
    }
    await expectConflicts()
    await daemon.stop()
    await start()
    await expectConflicts()
    const { hash } = await seen(ground)
    const { reviewId: id = '' } = await agent.putMemory({ cwd, file: 'a.md', content: NEXT, ifHash: hash })
    await person.decideReview({ id, decision: 'approve' })
    expect(readFileSync(path('a.md'), 'utf8')).toBe(NEXT)
  })

  it('made while the daemon was away stands, and so do its words in the index when an agent adds a line', async () => {
    const { start, ground } = await open()
    const { agent, cwd, path } = ground
    const daemon = await start()
    await agent.putMemory({ cwd, file: 'other.md', content: topic('Another.', 'Other') })
    await daemon.stop()
    writeFileSync(path('a.md'), BY_PERSON)
    writeFileSync(path('MEMORY.md'), INDEX)
    await start()
    expect(readFileSync(path('a.md'), 'utf8')).toBe(BY_PERSON)
    await agent.remember({ cwd, text: 'The release is on 2026-03-05' })
    const index = `${INDEX}- [The release is on 2026-03-05](project_the_release_is_on_2026_03_05.md) — The release is on 2026-03-05\n`
    expect(readFileSync(path('MEMORY.md'), 'utf8')).toBe(index)

    const write = { cwd, file: 'MEMORY.md', content: '- [A](a.md) — as the agent would have it\n' }
    await expect(agent.putMemory(write)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(readFileSync(path('MEMORY.md'), 'utf8')).toBe(index)
    await agent.putMemory({ ...write, ifHash: (await agent.memory({ cwd, file: 'MEMORY.md' })).hash })
    expect(readFileSync(path('MEMORY.md'), 'utf8')).toBe(write.content)
  })
})
