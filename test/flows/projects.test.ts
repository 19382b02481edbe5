import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type RouteName, routeTable } from '../../schema/route-table.ts'
import { routes } from '../../schema/routes.ts'
import { connectAs } from '../support/connect-as.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { topic } from '../support/memory.ts'
import { rawRequest } from '../support/raw.ts'

const WORDS = 'Only those who work on the lighthouse need to know this'

function folder(home: Home, ...path: string[]): string {
  const cwd = join(home.dir, ...path)
  mkdirSync(cwd, { recursive: true })
  return cwd
}

function repository(home: Home, ...path: string[]): string {
  const cwd = folder(home, ...path)
  execFileSync('git', ['init', '-q', cwd], { env: home.env as NodeJS.ProcessEnv })
  return cwd
}

/** These tell of transcripts, not of memories, and have tests of their own. */
const ofTranscripts: readonly RouteName[] = ['sessions', 'search']

/** Every answer about memories that depends on a folder, as it comes over the socket. */
async function answersFor(home: Home, cwd: string): Promise<Record<string, string>> {
  const asking = (Object.keys(routeTable) as RouteName[]).filter((name) => {
    const route: (typeof routes)[RouteName] = routes[name]
    const asks = route.method === 'GET' && 'query' in route && 'cwd' in route.query.shape
    return asks && !ofTranscripts.includes(name)
  })
  const queries = asking.flatMap((name) => {
    const path = routeTable[name].url.replace(':type', 'keeper').replace('*', 'sea.md')
    const scope = 'scope' in (routes[name] as { query: { shape: object } }).query.shape ? '&scope=project' : ''
    const now = `${path}?cwd=${encodeURIComponent(cwd)}${scope}`
    return name === 'memory' ? [now, `${now}&at=${encodeURIComponent('2999-01-01T00:00:00Z')}`] : [now]
  })
  const answers = await Promise.all(queries.map((path) => rawRequest(home.places.socketPath, { path })))
  return Object.fromEntries(queries.map((path, n) => [path, answers[n]?.body ?? '']))
}

const telling = (answers: Record<string, string>) =>
  Object.entries(answers).flatMap(([path, body]) => (body.includes('lighthouse') ? [path] : []))

describe('a memory of one project', () => {
  it('is told in none that asks from another, whatever lies where', async () => {
    const home = makeHome()
    await startDaemon(home)
    const person = connectAs(home, 'user')
    const cwd = repository(home, 'work', 'app')
    for (const body of [`${WORDS}, I think`, WORDS])
      await person.putMemory({ cwd, file: 'sea.md', content: topic(body, 'The lighthouse'), reason: 'the lighthouse' })

    await person.putAgentMemory({
      type: 'keeper',
      scope: 'project',
      cwd,
      file: 'sea.md',
      content: topic(WORDS, 'The lighthouse'),
    })

    await person.putMemory({ cwd, file: 'sea_2.md', content: topic(WORDS, 'The lighthouse') })
    const dreams = await jobEnds(person, 'dream')
    await person.dream({ cwd, force: true })
    expect(await dreams.next()).toMatchObject({ result: { merged: 1 } })

    const own = await Promise.all([cwd, folder(home, 'work', 'app', 'src', 'deep')].map((at) => answersFor(home, at)))
    for (const answers of own) expect(telling(answers).sort()).toEqual(Object.keys(answers).sort())

    const others = [
      repository(home, 'work', 'app2'),
      repository(home, 'work', 'ap'),
      folder(home, 'work'),
      repository(home, 'work', 'app', 'vendor', 'inner'),
      folder(home, 'elsewhere'),
      home.dir,
      '/',
      join(home.dir, 'work', 'app', '..', 'other'),
      join(home.dir, 'work', 'APP'),
    ]
    for (const at of others) expect({ at, told: telling(await answersFor(home, at)) }).toEqual({ at, told: [] })

    const recalled = (at: string) => person.recall({ cwd: at, query: 'who works on the lighthouse?', mode: 'local' })
    for (const at of [cwd, join(cwd, 'src', 'deep')])
      expect(await recalled(at)).toMatchObject({ memories: [{ file: 'sea.md' }] })
    for (const at of others) expect(await recalled(at)).toMatchObject({ skipped: 'none', text: '' })
  })

  it('may have the name that a memory of another has, and each keeps its own', async () => {
    const home = makeHome()
    await startDaemon(home)
    const person = connectAs(home, 'user')
    const projects = [repository(home, 'one'), repository(home, 'two'), folder(home, 'three')]
    for (const cwd of projects) await person.putMemory({ cwd, file: 'same.md', content: topic(`Of ${cwd}.`) })
    await person.forget({ cwd: projects[1] ?? '', file: 'same.md' })
    const contents = await Promise.all(
      projects.map((cwd) =>
        person.memory({ cwd, file: 'same.md' }).then(
          ({ content }) => content,
          ({ code }) => code,
        ),
      ),
    )
    expect(contents).toEqual([topic(`Of ${projects[0]}.`), 'NOT_FOUND', topic(`Of ${projects[2]}.`)])
  })

  it('is shared by two folders that Claude Code spells alike: there the directory is the project', async () => {
    const home = makeHome()
    await startDaemon(home)
    const person = connectAs(home, 'user')
    const [one, other] = [folder(home, 'b-c'), folder(home, 'b', 'c')]
    await person.putMemory({ cwd: one, file: 'a.md', content: topic('Of both.') })
    expect((await person.memories({ cwd: other })).dir).toBe((await person.memories({ cwd: one })).dir)
    expect((await person.memory({ cwd: other, file: 'a.md' })).content).toBe(topic('Of both.'))
    const memoryDir = (await person.memories({ cwd: one })).dir
    expect((await person.status()).projects).toEqual([
      { root: one, memoryDir, sharedWith: [other] },
      { root: other, memoryDir, sharedWith: [one] },
    ])
    await person.putMemory({ cwd: folder(home, 'alone'), file: 'a.md', content: topic('Its own.') })
    expect((await person.status()).projects.find(({ root }) => root.endsWith('alone'))).not.toHaveProperty('sharedWith')
    const agent = { type: 'tester', scope: 'local' as const, cwd: one, file: 'a.md', content: topic('An agent.') }
    await person.putAgentMemory(agent)
    expect((await person.status()).projects).toHaveLength(3)
  })
})
