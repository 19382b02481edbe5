import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createBudget } from '../../daemon/models/budget.ts'
import { failure } from '../../daemon/models/wire.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { broken, overloaded, rateLimited, says } from '../support/messages-api/answers.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { hello, user } from './asking.ts'
import { spendingRig } from './spending.ts'

const NOON = new Date(2026, 2, 10, 12).getTime()
const DAY = 86_400_000
const at = { signal: new AbortController().signal }
/** Of round prices: a dollar for a thousand tokens of input or output. */
const round = { prices: [{ input: 1_000, output: 1_000, cacheRead: 100 }] }
const models = { 'claude-haiku-5-5': round }
const roomy = { usdPerDay: 1_000, tokensPerDay: 1_000_000, models }

async function rig(wanted = roomy) {
  const api = await startMessagesApi({ script: () => says('ok', { outputTokens: 10 }) })
  const time = manualTime(NOON)
  const made = await spendingRig(wanted, { url: api.url, time })
  const provider = made.model.provider({ job: 'extraction', project: '/p' })
  return { api, time, ...made, ask: (request = hello) => provider.call(request, at) }
}

describe('the ledger', () => {
  it('holds a row for every call, with what it used and what it cost', async () => {
    const { api, model, ask, store } = await rig()
    await ask()
    api.next(rateLimited(3))
    await ask()
    const { input = 0 } = api.requests[0]?.usage ?? {}
    expect(store.history.prepare('SELECT * FROM ledger').all()).toEqual([
      {
        id: 1,
        at: NOON,
        day: '2026-03-10',
        job: 'extraction',
        project: '/p',
        model: 'claude-haiku-5-5',
        outcome: 'done',
        bytes: api.requests[0]?.bytes.length,
        nanos: (input + 10) * 1_000_000,
        uncached: input,
        input,
        cache_read: 0,
        cache_write: 0,
        output: 10,
        latency_ms: 0,
        request: expect.stringMatching(/^req_/),
      },
      expect.objectContaining({ outcome: 'rate-limit', nanos: 0, uncached: 0, input: 0, output: 0 }),
    ])
    expect(model.cost('job', 30)).toEqual({
      items: [
        {
          key: 'extraction',
          usd: (input + 10) / 1_000,
          input,
          cacheRead: 0,
          cacheWrite: 0,
          output: 10,
          calls: 2,
          unsettled: 0,
          hitPercent: 0,
        },
      ],
      unpriced: [],
      today: { usd: (input + 10) / 1_000, capUsd: 1_000, tokens: input, capTokens: 1_000_000 },
    })
  })

  it('has the row on the disk before anything is sent', async () => {
    const { core, ledger } = await rig()
    const steps: string[] = []
    const reservedForGood = async () => {
      const { uncached } = ledger.spentSince('2026-03-10')
      steps.push(uncached > 0 ? 'reserved' : 'not reserved')
      await ledger.reservedForGood()
      steps.push('on the disk')
    }
    const budget = createBudget(core, { ...ledger, reservedForGood })
    const ask = { job: 'extraction', model: 'claude-haiku-5-5', bytes: 1_000, maxTokens: 100, kept: undefined }
    await budget.spend(ask, async () => {
      steps.push('sent')
      return failure('server', 'it fell over', {})
    })
    expect(steps).toEqual(['reserved', 'on the disk', 'sent'])
  })

  it('adds up by day, project and job, and tells how much a cache gave', async () => {
    const { api, time, model, ask } = await rig()
    const big = { ...hello, system: [{ type: 'text' as const, text: 'x'.repeat(8_000), cacheControl: '5m' as const }] }
    await ask(big)
    time.jump(DAY)
    await ask(big)
    await model.provider({ job: 'dream' }).call(hello, at)
    const [write = 0, read = 0] = [api.requests[0]?.usage?.written5m, api.requests[1]?.usage?.read]
    expect(read).toBe(write)
    const days = model.cost('day', 2).items
    expect(days.map(({ key, cacheRead, cacheWrite, calls }) => ({ key, cacheRead, cacheWrite, calls }))).toEqual([
      { key: '2026-03-10', cacheRead: 0, cacheWrite: write, calls: 1 },
      { key: '2026-03-11', cacheRead: read, cacheWrite: 0, calls: 2 },
    ])
    expect(days[1]?.hitPercent).toBeGreaterThan(90)
    expect(model.cost('day', 1).items.map(({ key }) => key)).toEqual(['2026-03-11'])
    expect(model.cost('project', 30).items.map(({ key }) => key)).toEqual(['/p', ''])
    expect(model.cost('job', 30).items.map(({ key }) => key)).toEqual(['extraction', 'dream'])
  })

  it('counts tokens alone where the price is unknown, and says so', async () => {
    const known = { 'qwen-3': { window: 1_000_000, maxOutput: 128_000, minCacheTokens: 0 } }
    const api = await startMessagesApi({ models: known, script: () => says('ok') })
    const { model } = await spendingRig(roomy, { url: api.url, time: manualTime(NOON) })
    expect(await model.provider({ job: 'x' }).call({ ...hello, model: 'qwen-3' }, at)).toMatchObject({
      stop: 'end_turn',
    })
    expect(model.cost('day', 30)).toMatchObject({
      items: [{ usd: 0, calls: 1, input: api.requests[0]?.usage?.input }],
      unpriced: ['qwen-3'],
      today: { usd: 0, tokens: api.requests[0]?.usage?.input },
    })
  })

  it('takes the most for a call whose end the daemon did not see, and for a server that does not tell', async () => {
    const { api, model, ask } = await rig()
    const long = says('A long answer. '.repeat(40))
    api.next({ fault: 'cut', of: long }, { fault: 'reset' })
    await ask()
    const afterCut = model.budget()
    const { input = 0 } = api.requests[0]?.usage ?? {}
    expect(afterCut).toMatchObject({ usd: (input + hello.maxTokens) / 1_000, tokens: input })
    await ask()
    const most = Math.ceil((api.requests[1]?.bytes.length ?? 0) / 2)
    expect(model.budget()).toMatchObject({ tokens: input + most, usd: afterCut.usd + (most + hello.maxTokens) / 1_000 })
    const silent = [
      { type: 'message_start', message: {} },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ]
    const body = silent.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    api.next({ fault: 'raw', contentType: 'text/event-stream', body })
    expect(await ask()).toMatchObject({ content: [{ type: 'text', text: 'hi' }] })
    expect(model.budget().tokens).toBe(input + 2 * most)
  })

  it('guesses better once it has seen some calls', async () => {
    const { ledger, ask } = await rig()
    expect(ledger.tokensPerByte('claude-haiku-5-5')).toBeUndefined()
    for (let n = 0; n < 3; n++) await ask()
    const ratio = ledger.tokensPerByte('claude-haiku-5-5') ?? 0
    expect(ratio).toBeGreaterThan(0.1)
    expect(ratio).toBeLessThan(0.3)
  })
})

describe('the budget', () => {
  const capped = { ...roomy, usdPerDay: 4 }

  it('refuses what could pass it before anything is sent, until the next local day', async () => {
    const { api, ask, time, model } = await rig({ ...roomy, usdPerDay: 1 })
    const midnight = new Date(2026, 2, 11).getTime()
    expect(await ask()).toEqual({
      failed: 'budget',
      message: expect.stringContaining('dollars'),
      untilMs: midnight,
      permanent: false,
      spent: 'nothing',
    })
    expect(api.requests).toEqual([])
    expect(model.budget().usd).toBe(0)
    expect(await ask({ ...hello, maxTokens: 100 })).toMatchObject({ stop: 'end_turn' })
    time.jump(midnight - NOON)
    expect(await ask({ ...hello, maxTokens: 100 })).toMatchObject({ stop: 'end_turn' })
  })

  it('counts uncached input tokens as well', async () => {
    const { ask, api } = await rig({ ...roomy, tokensPerDay: 250 })
    const answers = [await ask(), await ask(), await ask(), await ask(), await ask(), await ask()]
    expect(answers.at(-1)).toMatchObject({ failed: 'budget', message: expect.stringContaining('tokens') })
    const used = api.requests.reduce((sum, { usage }) => sum + (usage?.input ?? 0), 0)
    expect(used).toBeLessThanOrEqual(250)
  })

  it.each([
    ['dollars', { ...roomy, usdPerDay: 0 }],
    ['tokens', { ...roomy, tokensPerDay: 0 }],
  ])('of 0 %s is no model at all', async (_what, wanted) => {
    const { api, ask, model, live } = await rig(wanted)
    expect(model.mode()).toBe('offline')
    expect(await ask()).toMatchObject({ failed: 'offline', spent: 'nothing', permanent: false })
    expect(api.requests).toEqual([])
    Object.assign(live, roomy)
    expect([model.mode(), await ask()]).toMatchObject(['online', { stop: 'end_turn' }])
  })

  it('is not passed by many calls at once', async () => {
    const { api, ask, model } = await rig(capped)
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask()))
    const refused = answers.filter((answer) => 'failed' in answer)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused.every((answer) => 'failed' in answer && answer.failed === 'budget')).toBe(true)
    // Three of at most a thousand tokens of output and some input fit into four dollars.
    expect(api.requests).toHaveLength(3)
    expect(model.budget().usd).toBeLessThanOrEqual(4)
  })

  it('is not used up by a storm of errors that cost nothing', async () => {
    const { api, ask, model } = await rig(capped)
    for (const answer of [rateLimited(1), overloaded, broken])
      for (let n = 0; n < 10; n++) {
        api.next(answer)
        await ask()
      }
    expect(model.budget()).toMatchObject({ usd: 0, tokens: 0 })
    expect(await ask()).toMatchObject({ stop: 'end_turn' })
  })

  it('is not fresh when the clock goes back', async () => {
    const { ask, time, model } = await rig(capped)
    while (!('failed' in (await ask())));
    for (const jump of [-DAY, -300 * DAY, 300 * DAY]) {
      time.jump(jump)
      expect(await ask()).toMatchObject({ failed: 'budget' })
    }
    time.jump(2 * DAY)
    expect(await ask()).toMatchObject({ stop: 'end_turn' })
    time.jump(-DAY)
    expect(model.budget().usd).toBeGreaterThan(3)
  })

  it('follows the caps as they are now', async () => {
    const { ask, live } = await rig({ ...roomy, usdPerDay: 1 })
    expect(await ask()).toMatchObject({ failed: 'budget' })
    live.usdPerDay = 5
    expect(await ask()).toMatchObject({ stop: 'end_turn' })
  })

  it('does not take a limit that is none for a cost of nothing', async () => {
    const { api, model } = await rig()
    for (const max_tokens of ['9', Number.NaN, -1, null, 1.5]) {
      const raw = { model: 'claude-haiku-5-5', max_tokens, messages: [] }
      const answer = await model.provider({ job: 'x' }).call({ ...hello, raw, messages: [user('hi')] }, at)
      expect(answer).toMatchObject({ failed: 'bad-request', permanent: true })
    }
    expect(api.requests).toEqual([])
  })
})

describe('being online', () => {
  it('follows the key: none, wrong, there, changed', async () => {
    const api = await startMessagesApi({ keys: ['second'], script: () => says('ok') })
    const keyFile = join(makeHome().dir, 'key')
    const time = manualTime(NOON)
    const { model, live, problem, modeChanges } = await spendingRig(roomy, { url: api.url, time, key: null })
    const ask = () => model.provider({ job: 'x' }).call(hello, at)
    expect([model.mode(), model.door()]).toEqual(['offline', undefined])
    expect(await ask()).toEqual({
      failed: 'offline',
      message: 'there is no key to a model',
      permanent: false,
      spent: 'nothing',
    })
    writeFileSync(keyFile, 'first')
    chmodSync(keyFile, 0o644)
    live.apiKeyFile = keyFile
    expect(await ask()).toMatchObject({ failed: 'offline', message: expect.stringContaining(`chmod 600 ${keyFile}`) })
    expect(problem()).toContain('can be read by others')
    chmodSync(keyFile, 0o600)
    expect([model.mode(), modeChanges(), problem()]).toEqual(['online', 1, undefined])
    expect(await ask()).toMatchObject({ failed: 'auth', permanent: true })
    const before = model.door()
    writeFileSync(keyFile, 'second')
    expect(await ask()).toMatchObject({ stop: 'end_turn' })
    expect(model.door()).toEqual({ baseUrl: api.url, fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) })
    expect(model.door()).not.toEqual(before)
  })

  it('finds a key that comes later by itself, and says so once', async () => {
    const api = await startMessagesApi({ script: () => says('ok') })
    const keyFile = join(makeHome().dir, 'key')
    const time = manualTime(NOON)
    const wanted = { ...roomy, apiKeyCommand: `cat ${keyFile}` }
    const { model, modeChanges, modeChanged } = await spendingRig(wanted, { url: api.url, time, key: null })
    await model.refresh()
    expect([model.mode(), model.waits()]).toEqual(['offline', { postponed: 'offline' }])
    writeFileSync(keyFile, 'first')
    time.pass(30_000)
    await modeChanged
    expect([model.mode(), model.waits(), modeChanges()]).toEqual(['online', undefined, 1])
  })

  it('does not tell its key when a server says it back', async () => {
    const api = await startMessagesApi({ keys: ['sk-test-0815'] })
    const time = manualTime(NOON)
    const { model } = await spendingRig(roomy, { url: api.url, time, key: 'sk-test-0815' })
    api.next({ status: 400, type: 'invalid_request_error', message: 'what is Bearer sk-test-0815 supposed to be' })
    expect(await model.provider({ job: 'x' }).call(hello, at)).toMatchObject({
      failed: 'bad-request',
      message: '400 what is Bearer [key] supposed to be',
    })
  })

  it('asks the command for a key again when the one it had is refused', async () => {
    const api = await startMessagesApi({ keys: ['second'], script: () => says('ok') })
    const keyFile = join(makeHome().dir, 'key')
    writeFileSync(keyFile, 'first')
    const time = manualTime(NOON)
    const wanted = { ...roomy, apiKeyCommand: `cat ${keyFile}` }
    const { model } = await spendingRig(wanted, { url: api.url, time, key: null })
    const ask = () => model.provider({ job: 'x' }).call(hello, at)
    expect(await ask()).toMatchObject({ failed: 'auth' })
    writeFileSync(keyFile, 'second')
    expect(await ask()).toMatchObject({ stop: 'end_turn' })
  })
})
