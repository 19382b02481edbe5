import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { daemonPrefix, harnessPrefix } from '../../daemon/agent/prefix.ts'
import { fingerprintOf } from '../../daemon/models/models.ts'
import { calls, says } from '../support/messages-api/answers.ts'
import { agentRig, conversation, key, MODEL, said } from './agent-rig.ts'

const HOUR_MS = 3_600_000

describe('the prefix that jobs of a session share', () => {
  it('is read from the cache by every later job, of whatever kind and however much was said since', async () => {
    const rig = await agentRig({ script: () => says('nothing to save') })
    const first = await rig.run({ prefix: await rig.prefixOf(conversation(10)) })
    const written = first.account.created
    expect(first).toMatchObject({
      cache: { cache: 'cold' },
      account: { calls: 1, read: 0, created: expect.any(Number) },
    })
    expect(written).toBeGreaterThan(2_000)
    // More messages than a server looks back.
    const second = await rig.run({
      job: 'notes',
      directive: 'Update the notes.',
      prefix: await rig.prefixOf(conversation(50)),
    })
    expect(second).toMatchObject({ cache: { cache: 'read' }, account: { read: written } })
    const third = await rig.run({
      job: 'compaction',
      policy: { may: 'nothing' },
      prefix: await rig.prefixOf(conversation(50)),
    })
    expect(third.account).toMatchObject({ read: written + second.account.created, created: 0 })
    expect(third.account.hitPercent).toBeGreaterThan(99)
    const marks = rig.api.requests.map(({ bytes }) => bytes.toString().split('"cache_control"').length - 1)
    expect(marks).toEqual([2, 3, 2])
    const logged = rig.logged('a model was asked')
    expect(logged).toMatchObject([
      { job: 'extraction', ended: 'done', cache: { cache: 'cold' } },
      { job: 'notes', account: { read: written } },
      { job: 'compaction', account: { created: 0 } },
    ])
    expect(JSON.stringify(logged)).not.toContain('some words')
  })

  it('goes on being cached from turn to turn of one run', async () => {
    const rig = await agentRig()
    rig.put('known.md', 'The build takes an hour.')
    rig.api.next(
      calls({ id: 'a', name: 'Read', input: { file_path: 'known.md' } }),
      calls({ id: 'b', name: 'Bash', input: { command: 'ls' } }),
      says('done'),
    )
    await rig.run({ prefix: await rig.prefixOf(conversation(10)), directive: 'A task. '.repeat(500) })
    const [first, second, third] = rig.api.requests.map(({ usage }) => usage)
    expect(second?.read).toBe(first?.written1h)
    expect(second?.written5m).toBeGreaterThan(1_000)
    expect(third?.read).toBe((second?.read ?? 0) + (second?.written5m ?? 0))
  })

  it('is reported when one byte of it is not what it was, and by which message', async () => {
    const rig = await agentRig({ script: () => says('ok') })
    await rig.run({ prefix: await rig.prefixOf(conversation(10)) })
    const other = conversation(12).map((each) => (each.id === 'u3' ? said(3, `${each.text}.`) : each))
    const { cache } = await rig.run({ prefix: await rig.prefixOf(other) })
    expect(cache).toEqual({
      cache: 'break',
      expectedTokens: expect.any(Number),
      readTokens: expect.any(Number),
      changed: 'm3',
    })
    // The next one reads what this one wrote.
    expect((await rig.run({ prefix: await rig.prefixOf(other) })).cache).toEqual({ cache: 'read' })
  })

  it('is reported when a server has lost it, though nothing has changed', async () => {
    const rig = await agentRig({ script: () => says('ok') })
    await rig.run({ prefix: await rig.prefixOf(conversation(10)) })
    rig.api.pass(2 * HOUR_MS)
    expect((await rig.run({ prefix: await rig.prefixOf(conversation(11)) })).cache).toEqual({
      cache: 'break',
      expectedTokens: expect.any(Number),
      readTokens: 0,
      changed: undefined,
    })
  })

  it('is no news when the break was announced: the anchor moved, messages were taken back, it was compacted', async () => {
    const rig = await agentRig({ script: () => says('ok') })
    const cacheOf = async (messages: ReturnType<typeof conversation>, model = MODEL) =>
      (await rig.run({ prefix: await rig.prefixOf(messages, model) })).cache
    await cacheOf(conversation(10))
    await cacheOf(conversation(10), 'claude-sonnet-5-5')
    const back = conversation(11).filter(({ id }) => id !== 'u5')
    expect(await cacheOf(back)).toEqual({ cache: 'expected-break', because: 'messages were taken back' })
    // Another model has a cache of its own, and it is told of the same break.
    expect(await cacheOf(back, 'claude-sonnet-5-5')).toEqual({
      cache: 'expected-break',
      because: 'messages were taken back',
    })
    const long = [...back, ...Array.from({ length: 20 }, (_, n) => said(100 + n, 'long '.repeat(4_000)))]
    expect(await cacheOf(long)).toEqual({ cache: 'expected-break', because: 'the anchor moved' })
    rig.agent.announceBreak(key, 'it was compacted')
    rig.api.pass(2 * HOUR_MS)
    expect(await cacheOf(long)).toEqual({ cache: 'expected-break', because: 'it was compacted' })
    expect(await cacheOf(long)).toEqual({ cache: 'read' })
  })
})

describe("a harness's own request", () => {
  const secretive = 'words-of-the-harness'
  const params = {
    model: MODEL,
    max_tokens: 2_000,
    system: [
      {
        type: 'text',
        text: `You are a harness. ${secretive} `.repeat(100),
        cache_control: { type: 'ephemeral', ttl: '1h' },
      },
    ],
    tools: [
      {
        name: 'Bash',
        description: 'Runs anything.',
        input_schema: { type: 'object', properties: { command: { type: 'string' } } },
      },
      {
        name: 'mcp__x__y',
        description: 'Something else',
        input_schema: { type: 'object' },
        cache_control: { type: 'ephemeral', ttl: '1h' },
      },
    ],
    thinking: { type: 'disabled' },
    metadata: { user_id: 'u' },
    messages: [
      {
        role: 'user',
        content: [{ type: 'text', text: `Build it. ${'é\u2028"'.repeat(500)}`, cache_control: { type: 'ephemeral' } }],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Built.', cache_control: { type: 'ephemeral' } }] },
    ],
  }

  /** Ends as what is handed over does. */
  const built = [said(1), said(2, 'Built.')]

  /** What the harness itself sends before it hands over what it sent. */
  async function harnessTurn(url: string) {
    const headers = { 'content-type': 'application/json', 'x-api-key': 'test-key', 'anthropic-version': '2023-06-01' }
    const body = { ...params, messages: [...params.messages, { role: 'user', content: 'And now?' }], stream: true }
    const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.text()
  }

  it('is sent as it is, to the byte but for how long an answer may be, and reads the cache that the harness wrote', async () => {
    const rig = await agentRig(
      {
        script: ({ body }) =>
          body.messages.length < 5 ? calls({ id: 'a', name: 'mcp__x__y', input: {} }) : says('ok'),
      },
      'harness',
    )
    await harnessTurn(rig.api.url)
    const request = { params, endpoint: rig.api.url, fingerprint: fingerprintOf('test-key') }
    expect(rig.agent.keepHarnessRequest(key, request)).toBeUndefined()
    const { prefix, names } = await rig.shared(built)
    expect([prefix.kind, names]).toEqual(['harness', new Map()])
    const report = await rig.run({ prefix })
    expect(report).toMatchObject({ ended: 'done', denials: 1, cache: { cache: 'read' } })
    const [harness, first, second] = rig.api.requests
    expect(first?.usage).toMatchObject({ written5m: 0, written1h: 0 })
    expect(first?.usage?.read).toBe((harness?.usage?.written5m ?? 0) + (harness?.usage?.written1h ?? 0))
    const task = JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'Save what matters.' }] })
    const sent = (n: number) => rig.api.requests[n]?.bytes.toString() ?? ''
    const asHandedOver = JSON.stringify({ ...params, max_tokens: 4_000 }).slice(0, -2)
    expect(sent(1)).toBe(`${asHandedOver},${task}],"stream":true}`)
    expect(sent(2).startsWith(`${asHandedOver},${task},`)).toBe(true)
    expect(second?.refused).toBeUndefined()
    // It has used all four marks: none is added.
    expect(sent(2).split('"cache_control"')).toHaveLength(5)
  })

  it('leaves room for what the harness lets the model think, beside the limit of the task', () => {
    const thinking = { type: 'enabled', budget_tokens: 10_000 }
    const { raw } = harnessPrefix('s', { ...params, max_tokens: 32_000, thinking }).request('A task.', 0, 4_000)
    expect(raw).toEqual({ ...params, max_tokens: 14_000, thinking })
    const endless = { type: 'enabled', budget_tokens: 9_000_000 }
    expect(harnessPrefix('s', { ...params, thinking: endless }).request('A task.', 0, 4_000).raw).toMatchObject({
      max_tokens: 36_000,
    })
  })

  it('is not used for a part of the session that ends otherwise', async () => {
    const rig = await agentRig({ script: () => says('ok') }, 'harness')
    rig.agent.keepHarnessRequest(key, { params, endpoint: rig.api.url, fingerprint: fingerprintOf('test-key') })
    expect((await rig.shared([...built, said(3), said(4, 'Tested.')])).prefix.kind).toBe('rendered')
    expect((await rig.shared(built)).prefix.kind).toBe('harness')
  })

  it.each([
    ['another endpoint', 'harness' as const, { endpoint: 'https://other.example.com' }],
    ['another key', 'harness' as const, { fingerprint: fingerprintOf('other-key') }],
    ['a setting that does not want it', 'rendered' as const, {}],
  ])('is not used with %s', async (_what, setting, other) => {
    const rig = await agentRig({ script: () => says('ok') }, setting)
    const request = { params, endpoint: rig.api.url, fingerprint: fingerprintOf('test-key'), ...other }
    rig.agent.keepHarnessRequest(key, request)
    const { prefix, names } = await rig.shared(built)
    await rig.run({ prefix })
    expect([prefix.kind, names]).toEqual([
      'rendered',
      new Map([
        ['m1', 'u1'],
        ['m2', 'u2'],
      ]),
    ])
    expect(rig.api.requests[0]?.bytes.includes(secretive)).toBe(false)
  })

  it('is in no file afterwards', async () => {
    const rig = await agentRig({ script: () => says('ok') }, 'harness')
    rig.agent.keepHarnessRequest(key, { params, endpoint: rig.api.url, fingerprint: fingerprintOf('test-key') })
    await rig.run({ prefix: await rig.prefixOf(built) })
    expect(rig.api.requests[0]?.bytes.includes(secretive)).toBe(true)
    rig.store.history.pragma('wal_checkpoint(TRUNCATE)')
    const files = readdirSync(rig.home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    expect(files.length).toBeGreaterThan(1)
    for (const { parentPath, name } of files)
      expect([name, readFileSync(join(parentPath, name)).includes(secretive)]).toEqual([name, false])
  })

  it('is watched from turn to turn: marks that move along are no change, words are', async () => {
    const rig = await agentRig({ script: () => says('ok') })
    const more = { role: 'user', content: [{ type: 'text', text: 'More.', cache_control: { type: 'ephemeral' } }] }
    const unmarked = params.messages.map(({ role, content }) => ({
      role,
      content: content.map(({ type, text }) => ({ type, text })),
    }))
    const next = {
      ...params,
      messages: [...unmarked.slice(0, 1), params.messages[1], more, { role: 'assistant', content: 'Yes.' }],
    } as never
    await rig.run({ prefix: harnessPrefix('s', params) })
    expect((await rig.run({ prefix: harnessPrefix('s', next) })).cache).toEqual({ cache: 'read' })
    const changed = { ...params, system: [{ type: 'text', text: 'You are another.' }] }
    expect((await rig.run({ prefix: harnessPrefix('s', changed) })).cache).toMatchObject({
      cache: 'break',
      changed: 'system',
    })
  })
})

describe('the tools that a model is told of', () => {
  it('are the same bytes for every job', async () => {
    const rig = await agentRig({ script: () => says('ok') })
    const rendered = { head: '<transcript>\n', messages: [], tokens: 0 }
    for (const policy of [{ may: 'memory' }, { may: 'notes', file: 'notes.md' }, { may: 'nothing' }] as const)
      await rig.run({ policy, prefix: daemonPrefix({ key: 's', model: MODEL, keep: '1h' }, rendered) })
    const tools = rig.api.requests.map(({ body }) => JSON.stringify(body?.tools))
    expect(new Set(tools).size).toBe(1)
    expect(rig.api.requests[0]?.body?.tools?.map(({ name }) => name)).toEqual([
      'Read',
      'Grep',
      'Glob',
      'Bash',
      'Edit',
      'Write',
    ])
  })
})
