import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SECTIONS } from '../../daemon/context/summary.ts'
import { problemWith } from '../context/lists.ts'
import { busySession } from '../support/busy-session.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { calls, overloaded, says } from '../support/messages-api/answers.ts'
import type { Options, Seen } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'

const MODEL = 'claude-haiku-5-5'
const nine = SECTIONS.map(([name], n) => `${n + 1}. ${name}: as it was`).join('\n')
const summary = (text = nine) =>
  says(`<analysis>\nI have to think of everything.\n</analysis>\n<summary>\n${text}\n</summary>`)

async function online(options: Options = {}, settings: object = {}) {
  const api = await startMessagesApi(options)
  const home = makeHome({ ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
  writeFileSync(
    home.places.configFile,
    JSON.stringify({ model: { compact: MODEL }, budget: { usdPerDay: 50, tokensPerDay: 50_000_000 }, ...settings }),
  )
  const daemon = await startDaemon(home)
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  return { api, home, cwd, ...daemon }
}

/** Turns as an API has them, each of about so many tokens. */
const conversation = (turns: number, tokens = 1_000) =>
  Array.from({ length: turns }, (_, n) => [
    { role: 'user', content: `Request ${n}: look after part ${n}.` },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: `t${n}`, name: 'Bash', input: { command: `make part-${n}` } }],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: `${n} `.padEnd(tokens * 4, 'word ') }],
    },
    { role: 'assistant', content: `Part ${n} is made. ${'It went well. '.repeat(60)}` },
  ]).flat()
const sent = ({ body }: Seen) => JSON.stringify(body?.messages)

describe('a compaction by a model', () => {
  it('asks for nine sections and no tool, tells images and skills in no other way, and leaves the draft out', async () => {
    const { api, client, cwd } = await online()
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } }
    const skills = {
      type: 'text',
      text: '<system-reminder>\nThe following skills are available: polish\n</system-reminder>',
    }
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'What is in this picture?' }, image, skills] },
      { role: 'assistant', content: 'A boat.' },
      ...conversation(30),
    ]
    api.next(calls({ id: 'c1', name: 'Bash', input: { command: 'ls' } }), summary())
    const done = await client.compact({
      sessionId: 's',
      cwd,
      model: 'unknown',
      messages,
      trigger: 'manual',
      instructions: 'Mind the boat.',
    })
    expect(done).toMatchObject({ strategy: 'full', kept: 0, boundary: { trigger: 'manual' } })
    expect(done.summary.startsWith(nine)).toBe(true)
    expect(JSON.stringify(done.messages)).not.toContain('I have to think')
    expect(problemWith(done.messages as never)).toBeUndefined()
    const [first, second] = api.requests as [Seen, Seen]
    for (const [name] of SECTIONS) expect(sent(first)).toContain(name)
    expect(sent(first)).toContain('Mind the boat.')
    expect(sent(first)).toContain('What is in this picture?\\n[image]')
    expect(sent(first)).not.toContain('aGVsbG8')
    expect(sent(first)).not.toContain('polish')
    expect(sent(second)).toMatch(/"is_error":true/)
    expect((await client.cost({ by: 'job' })).items).toMatchObject([{ key: 'compaction', calls: 2 }])
  })

  it('is asked twice more when nothing usable comes, and then fails; three failures stop it, for the session alone', async () => {
    const { api, client, cwd } = await online()
    const ask = (sessionId: string, trigger: 'auto' | 'manual' = 'auto') =>
      client.compact({ sessionId, cwd, model: 'unknown', messages: conversation(30), trigger })
    api.next(says(' '), says('<analysis>half of', { stop: 'max_tokens' }), summary())
    expect(await ask('s')).toMatchObject({ strategy: 'full' })
    expect(api.requests).toHaveLength(3)
    api.script(() => overloaded)
    for (let n = 0; n < 3; n++) await expect(ask('broken')).rejects.toMatchObject({ code: 'CONFLICT', reason: 'other' })
    await expect(ask('broken')).rejects.toMatchObject({ code: 'CONFLICT', reason: 'breaker' })
    expect(api.requests).toHaveLength(6)
    api.script(() => summary())
    expect(await ask('another')).toMatchObject({ strategy: 'full' })
    expect(await ask('broken', 'manual')).toMatchObject({ strategy: 'full' })
  })

  it('tells less when it was too much: by as much as the server says, else by a fifth', async () => {
    const models = { [MODEL]: { window: 14_000, maxOutput: 128_000, minCacheTokens: 1_024 } }
    const { api, client, cwd } = await online({ models, script: () => summary() })
    const ask = (sessionId: string) =>
      client.compact({ sessionId, cwd, model: 'unknown', messages: conversation(30), trigger: 'manual' })
    expect(await ask('known')).toMatchObject({ strategy: 'full' })
    expect(api.requests.map(({ refused }) => refused ?? 'taken')).toEqual([
      expect.stringContaining('prompt is too long'),
      'taken',
    ])
    expect(sent(api.requests[1] as Seen)).toContain('Request 29')
    expect(sent(api.requests[1] as Seen)).not.toContain('Request 0:')
  })

  it('drops a fifth where the server does not say by how much, and gives up after three times', async () => {
    const { api, client, cwd } = await online()
    const large = { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' }
    const ask = (sessionId: string) =>
      client.compact({ sessionId, cwd, model: 'unknown', messages: conversation(30), trigger: 'manual' })
    api.next(large, large, summary())
    expect(await ask('s')).toMatchObject({ strategy: 'full' })
    const lengths = api.requests.map(({ bytes }) => bytes.length)
    expect(lengths[0]).toBeGreaterThan(lengths[1] as number)
    expect(lengths[1]).toBeGreaterThan(lengths[2] as number)
    api.script(() => large)
    await expect(ask('never')).rejects.toMatchObject({ code: 'CONFLICT', reason: 'too-long' })
    expect(api.requests).toHaveLength(7)
  })

  it('refuses a summary that is longer than what it stands for', async () => {
    const { api, client, cwd } = await online()
    api.next(summary('And so on. '.repeat(6_000)))
    const asked = client.compact({
      sessionId: 's',
      cwd,
      model: 'unknown',
      messages: conversation(8),
      trigger: 'manual',
    })
    await expect(asked).rejects.toMatchObject({ code: 'CONFLICT', reason: 'inflated' })
  })

  it('goes on from what the jobs of the session share, so that a server reads it from its cache', async () => {
    const { api, client, cwd } = await online({ script: () => summary() })
    const push = async (n: number) => {
      const events = client.events()[Symbol.asyncIterator]()
      await events.next()
      const messages = conversation(6, 300).map((message, k) => ({ ...message, id: `u${n}-${k}` }))
      await client.pushTurn({
        cwd,
        sessionId: 's',
        turnId: `turn-${n}`,
        messages: JSON.parse(
          JSON.stringify(messages)
            .replaceAll('"t', `"n${n}t`)
            .replaceAll(/"n\dt(ype|ext|ool)/g, '"t$1'),
        ),
      })
      for (;;) if ((await events.next()).value?.type === 'turn') break
      await events.return?.()
    }
    await push(1)
    const ask = () => client.compact({ sessionId: 's', cwd, model: 'unknown', trigger: 'manual', preview: true })
    expect(await ask()).toMatchObject({ strategy: 'full' })
    await push(2)
    expect(await ask()).toMatchObject({ strategy: 'full' })
    const [first, second] = api.requests as [Seen, Seen]
    const blocks = ({ body }: Seen) =>
      ((body?.messages[0]?.content ?? []) as { text: string }[]).map(({ text }) => text)
    expect(blocks(second).slice(0, blocks(first).length - 1)).toEqual(blocks(first).slice(0, -1))
    expect(second.usage?.read).toBeGreaterThan(1_000)
    expect(sent(second)).toContain('Request 0')
  })

  it('asks no model for a folder that is private', async () => {
    const { api, client, cwd } = await online({}, { private: ['/'] })
    expect(
      await client.compact({ sessionId: 's', cwd, model: 'unknown', messages: conversation(30), trigger: 'auto' }),
    ).toMatchObject({ strategy: 'extractive' })
    expect(api.requests).toEqual([])
  })

  it('has what the user’s own command says looked to, and no command of a repository', async () => {
    const { api, client, cwd } = await online(
      { script: () => summary() },
      { context: { preCompact: 'echo Keep the port numbers.' } },
    )
    await client.compact({ sessionId: 's', cwd, model: 'unknown', messages: conversation(30), trigger: 'manual' })
    expect(sent(api.requests[0] as Seen)).toContain('Keep the port numbers.')
  })
})

describe('a compaction from notes', () => {
  it('asks no model, for messages that are given and for those of the transcript', async () => {
    const api = await startMessagesApi()
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    writeFileSync(home.places.configFile, JSON.stringify({ extraction: { enabled: false } }))
    const offline = await startDaemon(home)
    const ends = await jobEnds(offline.client, 'notes')
    const messages = busySession(60)
    await offline.client.pushTurn({ cwd, sessionId: 's', turnId: '1', messages })
    await ends.next()
    await offline.stop()
    Object.assign(home.env, { ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
    const { client } = await startDaemon(home)
    expect(await client.status()).toMatchObject({ mode: 'online' })
    const { content } = await client.sessionNotes({ id: 's' })
    const later = Array.from({ length: 12 }, (_, n) => [
      { id: `later-${2 * n}`, role: 'user', content: `And what about ${n}?` },
      { id: `later-${2 * n + 1}`, role: 'assistant', content: `That is fine. ${'Indeed. '.repeat(1_000)}` },
    ]).flat()
    const asked = { sessionId: 's', cwd, model: 'unknown', trigger: 'auto' as const }
    const done = await client.compact({ ...asked, messages: [...messages, ...later] })
    expect(done).toMatchObject({
      strategy: 'notes',
      boundary: { lastMessageId: messages.at(-1)?.id },
      kept: later.length,
    })
    expect(done.summary.startsWith(content.trim())).toBe(true)
    expect(done.messages.slice(1)).toEqual(later)
    expect(await client.compact({ ...asked, sessionId: 's', preview: true })).toMatchObject({ strategy: 'notes' })
    expect(api.requests).toEqual([])
  })
})
