import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createLedger, dayOf } from '../../daemon/models/budget.ts'
import type { ModelRequest } from '../../daemon/models/wire.ts'
import { hello } from '../models/asking.ts'
import { spendingRig } from '../models/spending.ts'
import { memoryd } from '../support/cli.ts'
import { manualTime } from '../support/clock.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { statusEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { says } from '../support/messages-api/answers.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { rawRequest } from '../support/raw.ts'

const unused = { usd: 0, capUsd: 1, tokens: 0, capTokens: 5_000_000 }
const configure = (home: Home, settings: object) => writeFileSync(home.places.configFile, JSON.stringify(settings))

describe('the mode of a daemon', () => {
  it('is offline without a key, whatever a caller has', async () => {
    const home = makeHome()
    const { client } = await startDaemon(home)
    expect(await client.status()).toMatchObject({ mode: 'offline', state: 'ready', budget: unused })
    const env = { ANTHROPIC_API_KEY: 'of-a-caller', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' }
    const headers = { 'x-memoryd-env': JSON.stringify(env) }
    const { body } = await rawRequest(home.places.socketPath, { path: '/v1/status', headers })
    expect(JSON.parse(body)).toMatchObject({ mode: 'offline' })
    expect(await client.cost({})).toEqual({ items: [], unpriced: [], today: unused })
  })

  it('is online with a key in its environment, unless no model is wanted', async () => {
    const home = makeHome({ ANTHROPIC_API_KEY: 'k' })
    const { client } = await startDaemon(home)
    expect(await client.status()).toMatchObject({ mode: 'online' })
    const events = statusEvents(client)
    await events.next()
    configure(home, { budget: { usdPerDay: 0 } })
    expect(await events.next()).toMatchObject({ value: { change: 'settings' } })
    expect(await client.status()).toMatchObject({ mode: 'offline', budget: { ...unused, capUsd: 0 } })
  })

  it('follows a key file: refused with the remedy while others can read it, taken once they cannot', async () => {
    const home = makeHome()
    const file = join(home.dir, 'key')
    writeFileSync(file, 'sk-secret-0123456789abcdef')
    chmodSync(file, 0o644)
    configure(home, { model: { apiKeyFile: '~/key' } })
    const { client, logged } = await startDaemon(home)
    await logged('can be read by others')
    expect(await client.status()).toMatchObject({
      mode: 'offline',
      state: 'degraded',
      reasons: [{ code: 'key', message: expect.stringContaining(`chmod 600 ${file}`) }],
    })
    chmodSync(file, 0o600)
    expect(await client.status()).toMatchObject({ mode: 'online', state: 'ready', reasons: [] })
  })

  it('changes when a command gives a key, which takes its time and keeps no caller waiting', async () => {
    const home = makeHome()
    const gate = join(home.dir, 'gate')
    execFileSync('mkfifo', [gate])
    configure(home, { model: { apiKeyCommand: `cat ${gate}` } })
    const { client } = await startDaemon(home)
    const events = statusEvents(client)
    await events.next()
    expect(await client.status()).toMatchObject({ mode: 'offline', state: 'ready' })
    await writeFile(gate, 'sk-x\n')
    expect(await events.next()).toMatchObject({ value: { change: 'mode' } })
    expect(await client.status()).toMatchObject({ mode: 'online' })
  })

  it('does not load what it needs to ask a model before it has something to ask', async () => {
    const home = makeHome({ ANTHROPIC_API_KEY: 'k', NODE_DEBUG: 'module' })
    const daemon = await startProcess(home)
    await daemon.client.status()
    await daemon.client.cost({})
    const { stderr } = await daemon.stop()
    expect(stderr).toContain('better-sqlite3')
    expect(stderr).not.toContain('@anthropic-ai')
  })
})

describe('a cap that is reached', () => {
  it('is told, and keeps no caller from reading or writing', async () => {
    const home = makeHome({ ANTHROPIC_API_KEY: 'k' })
    const store = openDatabases(home.places.stateDir, Date.now())
    const spent = { at: Date.now(), day: dayOf(Date.now()), job: 'x', project: undefined, model: 'm', bytes: 1 }
    createLedger(store.history).reserve({ ...spent, nanos: 1_000_000_000, uncached: 1 }, () => undefined)
    store.close()
    const { client } = await startDaemon(home)
    const cwd = home.dir
    expect(await client.status()).toMatchObject({ mode: 'online', budget: { usd: 1, capUsd: 1 }, state: 'ready' })
    expect((await memoryd(home, 'status')).stdout).toContain('used up until tomorrow')
    const { file } = await client.remember({ cwd, text: 'The office is in Lisbon' })
    expect(await client.memories({ cwd })).toMatchObject({ items: [{ file }] })
    expect(await client.memoryIndex({ cwd })).toMatchObject({ content: expect.stringContaining(file) })
    expect(await client.search({ cwd, q: 'Lisbon' })).toMatchObject({ items: [] })
    expect(await client.sessions({ cwd })).toEqual({ items: [] })
  })
})

describe('memoryd cost', () => {
  it('prints what models have cost, by day, project and job', async () => {
    const home = makeHome()
    const api = await startMessagesApi({
      models: {
        'claude-sonnet-5-5': { window: 1_000_000, maxOutput: 128_000, minCacheTokens: 0 },
        'qwen-3': { window: 1_000_000, maxOutput: 128_000, minCacheTokens: 0 },
      },
      script: () => says('ok', { outputTokens: 2_000 }),
    })
    const caps = { usdPerDay: 1, tokensPerDay: 1_000_000 }
    const { core, model } = await spendingRig(caps, { url: api.url, time: manualTime(Date.now()), home })
    const at = { signal: new AbortController().signal }
    const system = [{ type: 'text' as const, text: 'x'.repeat(40_000), cacheControl: '5m' as const }]
    const request: ModelRequest = { ...hello, model: 'claude-sonnet-5-5', system, maxTokens: 2_000 }
    await model.provider({ job: 'extraction', project: '/home/me/shop' }).call(request, at)
    await model.provider({ job: 'extraction', project: '/home/me/shop' }).call(request, at)
    await model.provider({ job: 'dream' }).call({ ...request, model: 'qwen-3', maxTokens: 500 }, at)
    const { usd } = model.budget()
    await core.stop(0)
    expect(usd).toBeGreaterThan(0.04)
    expect(usd).toBeLessThan(0.1)

    const { client } = await startDaemon(home)
    expect(await client.status()).toMatchObject({ budget: { usd } })
    const plain = await memoryd(home, 'cost')
    expect(plain).toMatchObject({ code: 0, stderr: '' })
    const [head, day, today, unpriced] = plain.stdout.split('\n')
    expect(head?.split(/ {2,}/)).toEqual(['day', 'dollars', 'tokens in / out', 'from cache', 'calls'])
    expect(day).toMatch(/^\d{4}-\d\d-\d\d {2}\$0\.0\d{3} +30k \/ 6000 +33 % +3$/)
    expect(today).toMatch(/^today \$0\.0\d{3} of \$1\.00, 20k of 5000k uncached tokens$/)
    expect(unpriced).toContain('no price is known for qwen-3')
    const jobs = JSON.parse((await memoryd(home, 'cost', '--by', 'job', '--days', '7', '--json')).stdout)
    expect(jobs).toMatchObject({
      items: [
        { key: 'extraction', usd, calls: 2, unsettled: 0, hitPercent: 50 },
        { key: 'dream', usd: 0, calls: 1, output: 2_000 },
      ],
      unpriced: ['qwen-3'],
    })
    const projects = (await memoryd(home, 'cost', '--by', 'project')).stdout
    expect(projects).toContain('/home/me/shop')
    expect(projects).toContain('(no project)')
    expect((await memoryd(home, 'status')).stdout).toMatch(/budget +\$0\.0\d of \$1\.00 and \d+ of 5000000 uncached/)
    expect(await memoryd(home, 'cost', '--by', 'hour')).toMatchObject({ code: 2 })
  })
})
