import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { type RouteName, routeTable } from '../../schema/route-table.ts'
import { connectAs } from '../support/connect-as.ts'
import { savedEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { topic } from '../support/memory.ts'
import { memoryDirOf, writeAsModel } from '../support/writer.ts'

/** What is asked of each route that reads. A new one belongs here. */
const questions: Partial<Record<RouteName, (client: StrictClient, cwd: string) => Promise<unknown>[]>> = {
  health: (client) => [client.health().then(({ pid: _pid, ...rest }) => rest)],
  // What is due at each start may just be done.
  status: (client) => [
    client.status().then(({ pid: _pid, startedAt: _startedAt, roots: _roots, jobs: { failed, waiting }, ...rest }) => {
      return { ...rest, jobs: { failed, waiting } }
    }),
  ],
  openapi: (client) => [client.openapi()],
  memoryIndex: (client, cwd) => [client.memoryIndex({ cwd })],
  memoryPrompt: (client, cwd) => [client.memoryPrompt({ cwd }), client.memoryPrompt({ cwd, sessionId: 's' })],
  memories: (client, cwd) => [
    client.memories({ cwd }),
    client.memories({ cwd, type: 'feedback' }),
    client.memories({ cwd, q: 'program' }),
    client.memories({ cwd, q: 'linter' }),
  ],
  memory: (client, cwd) =>
    ['a.md', 'model.md', 'theirs.md', 'gone.md'].flatMap((file) => [
      client.memory({ cwd, file }).catch(({ code }) => code),
      client.memory({ cwd, file, at: '2999-01-01T00:00:00Z' }).catch(({ code }) => code),
    ]),
  changes: (client, cwd) => [client.changes({ cwd }), client.changes({ cwd, file: 'a.md', limit: '2' })],
  change: (client) => Array.from({ length: 12 }, (_, n) => client.change({ id: String(n) }).catch(({ code }) => code)),
  run: (client) => [client.run({ id: 'r' })],
  agents: (client) => [client.agents()],
  mail: (client) => [client.mail({ agent: 'reader' }), client.mail({ agent: 'none' }).catch(({ code }) => code)],
  agentMemory: (client, cwd) => [client.agentMemory({ type: 'tester', scope: 'local', cwd })],
  agentMemoryFile: (client, cwd) => [client.agentMemoryFile({ type: 'tester', scope: 'local', cwd, file: 'own.md' })],
  tombstones: (client) => [client.tombstones()],
  reviews: (client) => [client.reviews()],
  sessions: (client, cwd) => [client.sessions({ cwd })],
  // What has ended is forgotten with the index; what was due becomes due again.
  jobs: (client) => [client.jobs({ state: 'failed' }), client.jobs({ state: 'waiting' })],
  // Only what goes on is forgotten.
  dreamStatus: (client, cwd) => [client.dreamStatus({ cwd }).then(({ last }) => last)],
  job: (client) => [client.job({ id: 'none' }).catch(({ code }) => code)],
  notices: (client) => [client.notices({ id: 's' })],
  recalled: (client) => [client.recalled({ id: 's' })],
  collectRecall: (client) => [client.collectRecall({ ticket: 'none' }).catch(({ code }) => code)],
  session: (client) => [client.session({ id: 'none' }).catch(({ code }) => code)],
  sessionNotes: (client) => [client.sessionNotes({ id: 'none' }).catch(({ code }) => code)],
  search: (client, cwd) => [client.search({ cwd, q: 'linter' })],
  toolResult: (client) => [client.toolResult({ session: 's', id: 'long', from: '10', to: '20' })],
  cost: (client) => [client.cost({}), client.cost({ by: 'job', days: '3' })],
  exportMemories: (client, cwd) => [exported(client, cwd)],
  instructions: (client, cwd) => [client.instructions({ cwd })],
}

/** But for the time of the export, and the checksum over it. */
async function exported(client: StrictClient, cwd: string): Promise<string[]> {
  let text = ''
  for await (const piece of client.exportMemories({ cwd })) text += Buffer.from(piece).toString()
  return text.split('\n').slice(1, -2)
}

it('gives the same answers after index.db was deleted', async () => {
  const home = makeHome()
  writeFileSync(home.places.configFile, JSON.stringify({ review: 'required' }))
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'CLAUDE.md'), 'Use tabs.\n')
  const dir = memoryDirOf(home, cwd)
  const evidence = [{ sessionId: 's', messageIds: ['m'], excerpt: 'as said', at: '2026-03-01T10:00:00.000Z' }]
  await writeAsModel(home, (writer) =>
    writer.write(dir, [{ file: 'model.md', content: topic('By a model.') }], {
      actor: 'agent:x',
      reason: 'y',
      runId: 'r',
      evidence,
    }),
  )
  const first = await startDaemon(home)
  const person = connectAs(home, 'user')
  const agent = connectAs(home, 'agent:test')
  const { until } = await savedEvents(person)
  const dreams = await jobEnds(person, 'dream')
  await person.dream({ cwd, force: true })
  expect(await dreams.next()).toMatchObject({ state: 'done' })
  await person.putMemory({ cwd, file: 'a.md', content: topic('One.') })
  writeFileSync(join(dir, 'theirs.md'), topic('By another program.'))
  await until('theirs.md')
  await person.putAgentMemory({ type: 'tester', scope: 'local', cwd, file: 'own.md', content: topic('Of an agent.') })
  await person.putMemory({ cwd, file: 'a.md', content: topic('Two.') })
  await person.remember({ cwd, text: 'Always run the linter before a commit' })
  await person.putMemory({ cwd, file: 'gone.md', content: topic('A thing that must not come again.') })
  await person.forget({ cwd, file: 'gone.md', reject: 'true' })
  await agent.putMemory({ cwd, file: 'waits.md', content: topic('Waits for a person.') })
  await person.pause({ cwd: join(home.dir, 'another') })
  const long = { toolUseId: 'long', tool: 'Bash', content: 'a long result '.repeat(5_000) }
  await person.keepToolResults({ sessionId: 's', results: [long] })
  await agent.registerAgent({ name: 'reader', sessionId: 's', cwd, pid: process.pid })
  await agent.sendMail({ from: 'writer', to: 'reader', body: 'Still to be read.' })

  const reading = (Object.keys(routeTable) as RouteName[]).filter(
    (name) => routeTable[name].method === 'GET' && name !== 'events',
  )
  expect(Object.keys(questions).sort()).toEqual(reading.sort())
  const ask = async () =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(questions).map(async ([name, put]) => [name, await Promise.all(put(person, cwd))] as const),
      ),
    )
  const before = await ask()
  expect(before).toMatchObject({
    tombstones: [{ items: [{ file: 'gone.md' }] }],
    reviews: [{ items: [{ file: 'waits.md' }] }],
    dreamStatus: [{ outcome: 'nothing' }],
    agents: [{ items: [{ name: 'reader', alive: true }] }],
    mail: [{ items: [{ body: 'Still to be read.' }] }, 'NOT_FOUND'],
  })
  await first.stop()
  for (const tail of ['', '-wal', '-shm']) rmSync(join(home.places.stateDir, `index.db${tail}`), { force: true })
  await startDaemon(home)
  expect(await ask()).toEqual(before)
})
