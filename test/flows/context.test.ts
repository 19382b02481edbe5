import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { connect } from '../../client/index.ts'
import { problemWith } from '../context/lists.ts'
import { diskFolder, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { memoryDirOf } from '../support/writer.ts'

const call = (id: string, name = 'Read', input: object = { file_path: `/${id}` }) => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id, name, input }],
})
const result = (id: string, content: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content }],
})
/** About so many tokens of it, in results of tools. */
const session = (results: number, tokensEach: number) => [
  { role: 'user', content: 'Look at all of them.' },
  ...Array.from({ length: results }, (_, n) => [
    call(`t${n}`),
    result(`t${n}`, `${n} `.padEnd(tokensEach * 4, 'word ')),
  ]).flat(),
]

describe('the context service', () => {
  it('measures a conversation by the window of its model and the variables of its caller', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ models: { small: { windowTokens: 100_000 } } }))
    const { client } = await startDaemon(home)
    const messages = session(2, 900)
    const measure = (model: string, more: object = {}) => client.measureContext({ model, messages, ...more })
    expect(await measure('unknown')).toEqual({
      tokens: expect.any(Number),
      breakdown: { user: 5, assistant: 0, toolRequests: 22, toolResults: 1_800, attachments: 0, duplicateReads: 0 },
      window: 200_000,
      effective: 180_000,
      thresholds: { warning: 160_000, error: 160_000, autoCompact: 167_000, blocked: 177_000 },
      percentLeft: expect.any(Number),
      states: { warning: false, error: false, autoCompact: false, blocked: false },
      resultLimits: { chars: 50_000, charsPerMessage: 200_000 },
    })
    expect(await measure('claude-opus-5-5')).toMatchObject({ window: 1_000_000 })
    expect(await measure('small')).toMatchObject({ window: 100_000, effective: 80_000 })
    expect(await measure('small[1m]')).toMatchObject({ window: 1_000_000 })
    expect(await measure('unknown', { betas: ['context-1m-2025-08-07'] })).toMatchObject({ window: 1_000_000 })
    const usage = { input_tokens: 170_000, output_tokens: 1_000 }
    expect(await measure('unknown', { usage })).toMatchObject({
      tokens: 171_900,
      states: { warning: true, autoCompact: true, blocked: false },
    })
  })

  it('clears old results by size, keeps the originals, and gives them back', async () => {
    const { client } = await startDaemon(makeHome())
    const messages = session(14, 10_000)
    const { messages: after, ...told } = await client.microcompact({ sessionId: 's', model: 'unknown', messages })
    expect(told).toMatchObject({ form: 'size', cleared: Array.from({ length: 11 }, (_, n) => `t${n}`) })
    expect(told.tokensAfter).toBeLessThan(told.tokensBefore - 100_000)
    expect(problemWith(after as never)).toBeUndefined()
    expect(await client.toolResult({ session: 's', id: 't4', from: '0', to: '10' })).toMatchObject({
      content: '4 word wor',
      chars: 40_000,
    })
    expect(await client.microcompact({ sessionId: 's', model: 'unknown', messages: session(3, 10) })).toMatchObject({
      form: 'size',
      cleared: [],
    })
  })

  it('says of a use that a server has counted how much less it is, and no third more', async () => {
    const { client } = await startDaemon(makeHome())
    const usage = { input_tokens: 165_000, output_tokens: 0 }
    const asked = { sessionId: 's', model: 'unknown', messages: session(14, 10_000), usage }
    const { tokensBefore, tokensAfter } = await client.microcompact(asked)
    // What is new since the last answer, and eleven results but for the marks in their place.
    expect({ tokensBefore, freed: tokensBefore - tokensAfter }).toEqual({
      tokensBefore: 175_000,
      freed: 11 * (10_000 - 9),
    })
  })

  it('lets memories be given again that it clears, or that stood in what was compacted', async () => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    const dir = memoryDirOf(home, cwd)
    mkdirSync(cwd)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const memory = '---\nname: Token renewal\ndescription: About tokens\ntype: project\n---\n\nA minute early.\n'
    writeFileSync(join(dir, 'auth.md'), memory)
    const { client } = await startDaemon(home)
    const recall = () => client.recall({ cwd, query: 'how is the token renewal done?', sessionId: 's' })
    const { text } = await recall()
    expect(text).toContain('A minute early.')
    const asked = { sessionId: 's', model: 'unknown' }
    await client.microcompact({ ...asked, messages: session(14, 10_000) })
    expect((await recall()).text).toBe('')
    const [first, ...others] = session(14, 10_000)
    const { messages = [] } = await client.microcompact({
      ...asked,
      messages: [first ?? {}, { role: 'user', content: text }, ...others],
    })
    expect(JSON.stringify(messages)).not.toContain('A minute early.')
    expect((await recall()).text).toBe(text)
    const compact = (preview: boolean) =>
      client.compact({ ...asked, cwd, messages: session(14, 10_000), trigger: 'manual', preview })
    await compact(true)
    expect((await recall()).text).toBe('')
    await compact(false)
    expect((await recall()).text).toBe(text)
  })

  it('has the other forms: by time, at the API, and planned', async () => {
    const { client } = await startDaemon(makeHome())
    const ask = (more: object) =>
      client.microcompact({ sessionId: 's', model: 'm', messages: session(22, 20), ...more })
    const old = new Date(Date.now() - 61 * 60_000).toISOString()
    expect((await ask({ form: 'time', lastAssistantAt: old })).cleared).toHaveLength(17)
    expect((await ask({ form: 'time', lastAssistantAt: new Date().toISOString() })).cleared).toEqual([])
    expect((await ask({ form: 'auto', lastAssistantAt: old })).cleared).toEqual([])
    expect(await ask({ form: 'api' })).toMatchObject({
      cleared: [],
      contextManagement: { edits: [{ type: 'clear_thinking_20251015' }, { type: 'clear_tool_uses_20250919' }] },
    })
    const planned = await ask({ form: 'cached' })
    expect(planned.cleared).toHaveLength(16)
    expect(planned.messages).toBeUndefined()
    expect((await ask({ form: 'cached', fork: true })).cleared).toEqual([])
  })

  it('clears by time by itself where that is switched on', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ context: { microcompactByTime: true } }))
    const { client } = await startDaemon(home)
    const messages = session(8, 20).map((message) => ({
      ...message,
      timestamp: new Date(Date.now() - 7_200_000).toISOString(),
    }))
    expect(await client.microcompact({ sessionId: 's', model: 'm', messages })).toMatchObject({
      form: 'time',
      cleared: ['t0', 't1', 't2'],
    })
  })

  it('refuses what is nested too deeply, and takes a long conversation', async () => {
    const { client } = await startDaemon(makeHome())
    let deep: unknown = 'x'
    for (let n = 0; n < 400; n++) deep = [deep]
    const refused = client.measureContext({ model: 'm', messages: [{ role: 'user', content: deep }] })
    await expect(refused).rejects.toMatchObject({ code: 'BAD_REQUEST' })
    const { tokens } = await client.measureContext({ model: 'm', messages: session(100, 10_000) })
    expect(tokens).toBeGreaterThan(1_000_000)
  })

  it('lets results of long ago go, and what a kill left half-written', async () => {
    const home = makeHome()
    const first = await startDaemon(home)
    const keep = (sessionId: string) =>
      first.client.keepToolResults({
        sessionId,
        results: [{ toolUseId: 't', tool: 'Bash', content: 'x '.repeat(30_000) }],
      })
    await keep('old')
    await keep('new')
    await first.stop()
    const folder = join(home.places.stateDir, 'tool-results')
    const longAgo = new Date(Date.now() - 31 * 86_400_000)
    utimesSync(join(folder, 'old', 't.txt'), longAgo, longAgo)
    writeFileSync(join(folder, 'new', 't.txt.0123456789ab.tmp'), 'half')
    const { logged } = await startDaemon(home)
    await logged('deleted what is past its retention')
    expect(readdirSync(folder)).toEqual(['new'])
    expect(readdirSync(join(folder, 'new'))).toEqual(['t.txt'])
  })

  it('makes an extract where there is no model, and it is marked as one', async () => {
    const home = makeHome()
    const { client } = await startDaemon(home)
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const messages = [
      { role: 'user', content: 'Rename the cart to basket everywhere.' },
      call('e', 'Edit', { file_path: '/shop/src/cart.ts' }),
      result('e', 'done'),
      call('b', 'Bash', { command: 'npm run lint:strict' }),
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b', content: 'Exit code 2', is_error: true }] },
      call('l', 'Bash', { command: 'cat everything' }),
      result('l', 'x'.repeat(700_000)),
      { role: 'assistant', content: 'Halfway there.' },
      { role: 'user', content: 'And the tests too.' },
    ]
    const compacted = await client.compact({ sessionId: 's', cwd, model: 'm', messages, trigger: 'auto' })
    expect(compacted).toMatchObject({ strategy: 'extractive', boundary: { type: 'compact_boundary', trigger: 'auto' } })
    expect(compacted.summary).toContain('- Rename the cart to basket everywhere.')
    expect(compacted.summary).toContain('/shop/src/cart.ts')
    expect(compacted.summary).toContain('npm run lint:strict')
    expect(JSON.stringify(compacted.messages)).toContain('[extractive summary]')
    expect(compacted.messages.at(-1)).toMatchObject({ role: 'user' })
    expect(JSON.stringify(compacted.messages.at(-1))).toContain('And the tests too.')
    expect(compacted.tokensAfter).toBeLessThan(5_000)
    expect(problemWith(compacted.messages as never)).toBeUndefined()
    const again = client.compact({ sessionId: 's', cwd, model: 'm', messages: compacted.messages, trigger: 'auto' })
    await expect(again).rejects.toMatchObject({ code: 'CONFLICT', reason: 'thrash' })
  })

  it('compacts nothing where it is switched off', async () => {
    const home = makeHome()
    const { client } = await startDaemon(home)
    const ask = (env: Record<string, string>, trigger: 'auto' | 'manual') => {
      for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
      const own = connect({ socket: home.places.socketPath, strict: true })
      vi.unstubAllEnvs()
      const asked = own.compact({ sessionId: 's', cwd: home.dir, model: 'm', messages: session(3, 10), trigger })
      return asked.finally(own.close)
    }
    await expect(ask({ DISABLE_COMPACT: '1' }, 'manual')).rejects.toMatchObject({ code: 'CONFLICT', reason: 'off' })
    await expect(ask({ DISABLE_AUTO_COMPACT: '1' }, 'auto')).rejects.toMatchObject({ code: 'CONFLICT', reason: 'off' })
    await expect(
      client.compact({ sessionId: 'n', cwd: home.dir, model: 'm', trigger: 'manual' }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('puts back no file of its own, of the machine, or of a private folder, by whatever way it is named', async () => {
    const home = makeHome({}, diskFolder)
    const folder = (name: string) => {
      mkdirSync(join(home.dir, name), { recursive: true })
      return join(home.dir, name)
    }
    const secret = folder('secret')
    const project = folder('project')
    writeFileSync(join(secret, 'a.md'), 'This must not be read.')
    writeFileSync(join(project, 'b.md'), 'Everybody may read this.')
    writeFileSync(home.places.configFile, JSON.stringify({ private: [secret] }))
    const { client } = await startDaemon(home)
    writeFileSync(join(home.places.stateDir, 'own.md'), 'This must not be read.')
    symlinkSync(home.places.stateDir, join(project, 'state'))
    symlinkSync(secret, join(project, 'link'))
    const ask = (restore: object) =>
      client.compact({
        sessionId: `s${Math.random()}`,
        cwd: project,
        model: 'unknown',
        messages: [...session(3, 20_000), { role: 'assistant', content: 'Done.' }],
        trigger: 'manual',
        restore,
      })
    const files = [
      join(secret, 'a.md'),
      join(project, 'link/a.md'),
      join(project, 'state/own.md'),
      `${project}/../${relative(home.dir, home.places.stateDir)}/own.md`,
      '/proc/self/status',
      join(project, 'b.md'),
    ]
    const { restored, messages } = await ask({ files })
    expect(restored.map(({ name }) => name)).toEqual([join(project, 'b.md')])
    expect(JSON.stringify(messages)).not.toContain('This must not')
    for (const path of files.slice(0, -1)) expect((await ask({ plan: { path } })).restored).toEqual([])
  })

  it('takes what messages say of their use for what it is: numbers of another program', async () => {
    const { client } = await startDaemon(makeHome())
    const tokens = async (usage: unknown) =>
      (
        await client.measureContext({
          model: 'm',
          messages: [
            { role: 'user', content: 'a' },
            { role: 'assistant', content: 'b', usage },
          ],
        })
      ).tokens
    expect(await tokens({ input_tokens: 100.4, output_tokens: -50 })).toBe(100)
    expect(await tokens({ input_tokens: -1e9, output_tokens: 7 })).toBe(7)
    expect(await tokens({ input_tokens: 1e300, cache_read_input_tokens: 'many' })).toBe(1_000_000_000)
  })
})
