import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { collectEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { says } from '../support/messages-api/answers.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'

const quiet = { extraction: { enabled: false }, notes: { enabled: false } }
const on = { ...quiet, agentSummaries: { enabled: true, everySeconds: 1 } }

const configure = (home: Home, settings: object) =>
  writeFileSync(home.places.configFile, JSON.stringify(settings), { mode: 0o600 })

async function working(home: Home, settings: object) {
  configure(home, settings)
  const session = claudeSession(home)
  const daemon = await startDaemon(home)
  const { client } = daemon
  const { id: sessionId, cwd } = session
  const me = { name: 'worker', sessionId, harness: 'claude-code', cwd, pid: process.pid }
  await client.registerAgent({ ...me, summaries: true })
  await client.registerAgent({ ...me, name: 'silent' })
  const write = async (...lines: ReturnType<typeof session.person>[]) => {
    session.write(...lines)
    const isRead = async () => (await client.sessions({ cwd })).items[0]?.lastAt === lines.at(-1)?.timestamp
    while (!(await isRead()));
  }
  /** Lines are made anew so many times, where there is something to make them anew of. */
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round++) {
      daemon.time.pass(1_000)
      await client.health()
    }
  }
  const untilItSays = async (line: string) => {
    await rounds(1)
    for (;;) {
      const { items } = await client.agents()
      expect(items.find(({ name }) => name === 'silent')).not.toHaveProperty('summary')
      if (items.find(({ name }) => name === 'worker')?.summary === line) return
    }
  }
  return { client, session, write, rounds, untilItSays }
}

describe('the status line of an agent', () => {
  it('follows its last call of a tool, where there is no model', async () => {
    const { session, write, untilItSays } = await working(makeHome(), on)
    await write(session.person('Fix the check'), ...session.call('Edit', { file_path: '/x/validate.ts' }))
    await untilItSays('Editing the file validate.ts')
    await write(...session.call('Bash', { command: 'npm test' }))
    await untilItSays('Running npm test')
  })

  it('is asked of the small model while the transcript grows, with the line before, and no more than that', async () => {
    const api = await startMessagesApi()
    api.next(says('Fixing null check in validate.ts'), says('I would say that it is now running all of the tests'))
    const home = makeHome({ ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
    const { client, session, write, rounds, untilItSays } = await working(home, on)
    const key = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
    await write(session.person(`Fix the check, with ${key}`), ...session.call('Edit', { file_path: '/x/validate.ts' }))
    await untilItSays('Fixing null check in validate.ts')
    const asked = api.requests[0]?.body
    expect(asked).toMatchObject({ model: 'claude-haiku-5-5', messages: [{ role: 'user' }] })
    expect(asked).not.toHaveProperty('tools')
    expect(JSON.stringify(asked)).toContain('validate.ts')
    expect(JSON.stringify(asked)).not.toContain(key)
    // Nothing is said meanwhile, so nothing is asked.
    await rounds(3)
    expect(api.requests).toHaveLength(1)
    // What is no line of a few words is not shown.
    await write(...session.call('Bash', { command: 'npm test' }))
    await untilItSays('Running npm test')
    expect(JSON.stringify(api.requests[1]?.body)).toContain('The line before was: Fixing null check in validate.ts')
    expect((await client.cost({ by: 'job' })).items).toMatchObject([{ key: 'summary', calls: 2 }])
  })

  it('is not made while the setting is off, nor where memory is', async () => {
    const api = await startMessagesApi({ script: () => says('Doing what was not asked') })
    const home = makeHome({ ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
    const { client, session, write, rounds, untilItSays } = await working(home, quiet)
    const { until } = await collectEvents(client, 'status')
    await write(session.person('Fix the check'), ...session.call('Edit', { file_path: '/x/validate.ts' }))
    await rounds(3)
    await client.pause({ cwd: session.cwd })
    configure(home, on)
    await until((events) => events.some(({ change }) => change === 'settings'))
    await rounds(3)
    expect(api.requests).toEqual([])
    await client.resume({})
    await untilItSays('Doing what was not asked')
    configure(home, quiet)
    await until((events) => events.filter(({ change }) => change === 'settings').length === 2)
    expect((await client.agents()).items.map(({ summary }) => summary)).toEqual([undefined, undefined])
  })
})
