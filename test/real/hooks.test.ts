/**
 * The whole way with real clients: a preference that is stated to one of them becomes a memory, which comes back with the prompt
 * it fits, in another session and in the other client. What their models were asked proves it.
 */
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import type { Event } from '../../schema/event.ts'
import { memoryd } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { installClaude, runClaude, wordsOf } from './claude-client.ts'
import { configureCodex, installCodex, runCodex } from './codex-client.ts'
import { configureGemini, installGemini, runGemini } from './gemini-client.ts'
import type { Installed } from './install.ts'
import { repository } from './repository.ts'
import { startGemini } from './scripted-gemini.ts'
import { startModel } from './scripted-model.ts'
import { startResponses } from './scripted-responses.ts'

const clients: Record<string, () => Promise<Installed>> = {
  claude: installClaude,
  codex: installCodex,
  gemini: installGemini,
}
const installed: Record<string, Installed> = {}

beforeAll(async () => {
  for (const [name, install] of Object.entries(clients)) {
    const one = await install()
    installed[name] = one
    if ('missing' in one) console.warn(`skipped, ${one.missing}`)
  }
})
afterAll(() => {
  for (const one of Object.values(installed)) if ('remove' in one) one.remove()
})

function programOf(name: string, { skip }: TestContext): string {
  const one = installed[name]
  if (!one || 'missing' in one) return skip(one ? one.missing : `${name} was not installed`)
  return one.program
}

const STATED = 'From now on, always deploy the shop from the release branch, never from main.'
const FITS = 'How do I deploy the shop?'
const FITS_NOT = 'What is the capital of France?'
/** Stands before memories that a prompt brought. */
const RECALLED = 'Memories of earlier work in this project'
const MARK = '<memoryd-context>'

async function open(settings: object = {}): Promise<{ home: Home; cwd: string; client: StrictClient }> {
  const home = makeHome()
  const cwd = repository(home, 'shop')
  // No person sits at these sessions: without this, nothing is kept of them.
  writeFileSync(home.places.configFile, JSON.stringify({ extraction: { nonInteractive: true }, ...settings }))
  const { client } = await startDaemon(home)
  return { home, cwd, client }
}

/** Waits for an event of a kind that is still to come. */
async function awaiting<T extends Event['type']>(client: StrictClient, type: T) {
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  return async () => {
    for (let next = await events.next(); !next.done; next = await events.next())
      if (next.value.type === type) return next.value as Extract<Event, { type: T }>
    throw new Error(`the daemon stopped before there was one of ${type}`)
  }
}

describe('real clients with our hooks', () => {
  it('remember what one of them was told, in its next session and in the other client', async (context) => {
    const claude = programOf('claude', context)
    const codex = programOf('codex', context)
    const { home, cwd, client } = await open()
    const messages = await startModel()
    const responses = await startResponses()
    configureCodex(home, { url: responses.url, hooks: {} })
    for (const name of ['claude-code', 'codex']) expect((await memoryd(home, 'connect', name)).code).toBe(0)
    const ask = async (prompt: string) => {
      const [first] = await runClaude(claude, { home, model: messages }, { cwd, prompt })
      if (!first) throw new Error('the client asked nothing')
      return wordsOf(first)
    }

    const kept = await awaiting(client, 'saved')
    expect(await ask(STATED)).not.toContain(MARK)
    await kept()
    const { items } = await client.memories({ cwd })
    expect(items).toHaveLength(1)

    const fitting = await ask(FITS)
    expect(fitting).toContain(RECALLED)
    expect(fitting).toContain('release branch')
    // The index it loads by itself.
    expect(fitting).toContain(`(${items[0]?.file})`)
    const other = await ask(FITS_NOT)
    expect(other).not.toContain(RECALLED)
    expect(other).toContain(`(${items[0]?.file})`)

    const askCodex = async (prompt: string) => {
      const from = responses.requests.length
      await runCodex(codex, home, { cwd, prompt })
      return JSON.stringify(responses.requests[from])
    }
    const there = await askCodex(FITS)
    expect(there).toContain(MARK)
    expect(there).toContain(`(${items[0]?.file})`)
    expect(there).toContain(RECALLED)
    const elsewhere = await askCodex(FITS_NOT)
    expect(elsewhere).toContain(`(${items[0]?.file})`)
    expect(elsewhere).not.toContain(RECALLED)

    // What was injected was not said: it is neither found nor learned again.
    expect((await client.search({ cwd, q: `"${RECALLED}"` })).items).toEqual([])
    expect((await client.memories({ cwd })).items).toHaveLength(1)
    const { harnesses, errors } = await client.status()
    expect(harnesses.filter(({ connected, lastHookAt }) => connected && lastHookAt).map(({ name }) => name)).toEqual([
      'claude-code',
      'codex',
    ])
    expect(errors).toEqual([])
  })

  it('keep the notes of a session through a compaction', async (context) => {
    const claude = programOf('claude', context)
    const { home, cwd, client } = await open({ notes: { initTokens: 1, updateTokens: 1, toolCalls: 0 } })
    const model = await startModel()
    expect((await memoryd(home, 'connect', 'claude-code')).code).toBe(0)
    const run = (prompt: string, resume?: string) =>
      runClaude(claude, { home, model }, { cwd, prompt, ...(resume !== undefined && { resume }) })
    const ended = await awaiting(client, 'turn')
    await run('The port of the shop is 4711, please note that in src/port.ts.')
    const { sessionId: id } = await ended()
    // They are written once the turn was read, beside everything else.
    await expect.poll(async () => (await client.sessionNotes({ id })).content, { timeout: 30_000 }).toContain('4711')
    const compacting = await run('/compact', id)
    expect(JSON.stringify(compacting)).toContain('Keep in the summary what these notes')
    const [after] = await run('And now?', id)
    expect(after && wordsOf(after)).toContain('Notes of this session')
    expect(after && wordsOf(after)).toContain('4711')
  })

  it('Gemini CLI starts with the index, and gets the memory that fits', async (context) => {
    const gemini = programOf('gemini', context)
    const { home, cwd, client } = await open()
    const model = await startGemini()
    configureGemini(home)
    expect((await memoryd(home, 'connect', 'gemini')).code).toBe(0)
    const { file } = await client.remember({ cwd, text: 'Deploys of the shop go out from the release branch only' })
    const ask = async (prompt: string) => {
      const from = model.requests.length
      await runGemini(gemini, home, { cwd, prompt, url: model.url })
      return JSON.stringify(model.requests.slice(from))
    }
    const fitting = await ask(FITS)
    expect(fitting).toContain('memoryd-context')
    expect(fitting).toContain(`(${file})`)
    expect(fitting).toContain(RECALLED)
    const other = await ask(FITS_NOT)
    expect(other).toContain(`(${file})`)
    expect(other).not.toContain(RECALLED)
  })
})
