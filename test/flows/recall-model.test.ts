import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectAs } from '../support/connect-as.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { usualModels } from '../support/messages-api/admission.ts'
import { type Answer, overloaded, says } from '../support/messages-api/answers.ts'
import type { Seen } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { memoryDirOf } from '../support/writer.ts'

const names = ['auth.md', 'tests.md', 'release.md', 'cache.md', 'style.md', 'owls.md']
const selects = (...selected: string[]): Answer => says(JSON.stringify({ selected_memories: selected }))

/** A daemon with a few memories and a model that says what the script says. */
async function ground({ settings = {}, memories = [] as string[] } = {}) {
  const models = Object.fromEntries(
    Object.entries(usualModels).map(([name, facts]) => [name, { ...facts, minCacheTokens: 0 }]),
  )
  const api = await startMessagesApi({ models })
  const home = makeHome({ ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
  writeFileSync(home.places.configFile, JSON.stringify(settings))
  const cwd = join(home.dir, 'project')
  const dir = memoryDirOf(home, cwd)
  mkdirSync(cwd)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  for (const file of [...names, ...memories])
    writeFileSync(
      join(dir, file),
      `---\nname: ${file.slice(0, -3)}\ndescription: All about ${file.slice(0, -3)}\ntype: project\n---\n\nIt is so.\n`,
    )
  await startDaemon(home)
  const client = connectAs(home, 'agent:test')
  const ask = (more: object = {}) => client.recall({ cwd, query: 'what about the auth thing', ...more })
  return { api, home, cwd, dir, client, ask }
}

type Wire = {
  system: { text: string }[]
  messages: { role: string; content: { text: string; cache_control?: object }[] }[]
  max_tokens: number
  model: string
  output_config: object
}
const wire = ({ body }: Seen) => body as unknown as Wire
const filesOf = ({ memories }: { memories: { file: string }[] }) => memories.map(({ file }) => file)

describe('selection by a model', () => {
  it('gives what the model names, in its order, and asks it as specified', async () => {
    const { api, ask, client } = await ground()
    api.next(selects('owls.md', 'auth.md'))
    const answer = await ask({ mode: 'model', recentTools: ['Bash', 'mcp__jira__search'] })
    expect(answer).toMatchObject({ mode: 'model' })
    expect(filesOf(answer)).toEqual(['owls.md', 'auth.md'])
    const { system, messages, max_tokens, output_config } = wire(await api.request(1))
    expect(max_tokens).toBe(256)
    expect(output_config).toMatchObject({ format: { type: 'json_schema' } })
    const said = system.map(({ text }) => text).join('\n')
    expect(said).toContain('Documentation of those tools')
    expect(said).toContain('is noise')
    expect(said).toContain('Warnings about those very tools')
    expect(said).toContain('An empty list is a fine answer')
    const [manifest, question] = messages[0]?.content ?? []
    expect(manifest?.text.split('\n').slice(1, -1)).toEqual(
      [...names]
        .sort()
        .map((file) =>
          expect.stringMatching(
            new RegExp(`^- \\[project\\] ${file} \\(\\d{4}-.*Z\\): All about ${file.slice(0, -3)}$`),
          ),
        ),
    )
    expect(question?.text).toContain('what about the auth thing')
    expect(question?.text).toContain('Tools in use at the moment: Bash, mcp__jira__search')
    expect((await client.cost({ by: 'job' })).items).toMatchObject([{ key: 'recall', calls: 1 }])
  })

  it('takes an empty list for an answer', async () => {
    const { api, ask } = await ground()
    api.next(selects())
    expect(await ask({ mode: 'model' })).toMatchObject({ mode: 'model', skipped: 'none', memories: [] })
  })

  it('drops names that do not exist, and gives no more than k', async () => {
    const { api, ask } = await ground()
    api.next(selects('../../etc/passwd', 'owls.md', 'nothing.md', 'auth.md', 'auth.md'))
    expect(filesOf(await ask({ mode: 'model', k: 1 }))).toEqual(['owls.md'])
  })

  it.each<[string, Answer]>([
    ['another form', says('{"selected": ["owls.md"]}')],
    ['no JSON', says('owls.md, I think')],
    ['six names', selects(...names)],
    ['only unknown names', selects('nothing.md')],
    ['a refusal', says('', { stop: 'refusal' })],
    ['529', overloaded],
    ['a stream that is cut', { fault: 'cut', of: says('{"selected_memories": []}') }],
    ['a closed connection', { fault: 'reset' }],
    ['silence', { fault: 'silent' }],
    ['a stream that stands still', { fault: 'stall', of: says('{"selected_memories": []}') }],
  ])('gives the local answer within the deadline after %s', async (_, answer) => {
    const { api, ask } = await ground()
    // The first question also loads what is needed to ask at all.
    api.next(selects(), answer)
    await ask({ mode: 'model' })
    const given = await ask({ mode: 'auto', deadlineMs: 700, explain: true })
    expect(given).toMatchObject({ mode: 'local', explain: { model: expect.any(String) } })
    expect(filesOf(given)).toEqual(['auth.md'])
    expect(api.requests).toHaveLength(2)
  })

  it('keeps an answer that comes too late for the next question of the session', async () => {
    const { api, ask, cwd, client } = await ground()
    let answer = (_: Answer) => {}
    const coming = new Promise<Answer>((resolve) => {
      answer = resolve
    })
    api.script(() => coming)
    const first = await ask({ sessionId: 's', deadlineMs: 50 })
    expect(first).toMatchObject({ mode: 'local' })
    expect(filesOf(first)).toEqual(['auth.md'])
    answer(selects('owls.md'))
    const { closed } = await api.request(1)
    expect(await closed).toMatchObject({ complete: true })
    // What it cost is written down when it has been read to its end.
    while ((await client.cost({ by: 'job' })).items[0]?.unsettled !== 0);
    const second = await client.recall({ cwd, query: 'release', sessionId: 's', mode: 'local' })
    expect(filesOf(second)).toEqual(['owls.md', 'release.md'])
    expect(filesOf(await client.recall({ cwd, query: 'release', mode: 'local' }))).toEqual(['release.md'])
  })

  it('reads the manifest from the cache with the next question of a project', async () => {
    const memories = Array.from({ length: 150 }, (_, n) => `note_${n}.md`)
    const { api, ask, cwd, client } = await ground({ memories })
    api.script(() => selects('auth.md'))
    const mode = 'model'
    await ask({ sessionId: 's', mode })
    await client.recall({ cwd, query: 'how does the cache work', sessionId: 's', recentTools: ['Bash'], mode })
    await client.recall({ cwd, query: 'something else', sessionId: 'another', mode })
    const [first, second, third] = api.requests
    expect(first?.usage).toMatchObject({ read: 0 })
    const written = first?.usage?.written5m ?? 0
    expect(written).toBeGreaterThan(1_000)
    for (const usage of [second?.usage, third?.usage]) {
      expect(usage).toMatchObject({ read: written, written5m: 0 })
      expect(usage?.input).toBeLessThan(500)
    }
    expect(wire(second as Seen).messages[0]?.content[1]?.text).toContain('not to be chosen: auth.md')
  })

  it('shows the model no more than 200 memories, those that the words lead to among them', async () => {
    const memories = Array.from({ length: 260 }, (_, n) => `note_${n}.md`)
    const { api, ask } = await ground({ memories })
    api.next(selects('auth.md'))
    expect(filesOf(await ask({ mode: 'model' }))).toEqual(['auth.md'])
    const manifest =
      wire(await api.request(1))
        .messages[0]?.content[0]?.text.split('\n')
        .slice(1, -1) ?? []
    expect(manifest).toHaveLength(200)
    expect(manifest.some((line) => line.includes(' auth.md '))).toBe(true)
  })

  it('asks no model in local mode, without money, or where there is nothing to select', async () => {
    const { api, ask, client, home } = await ground()
    expect(await ask({ mode: 'local' })).toMatchObject({ mode: 'local' })
    const empty = join(home.dir, 'empty')
    mkdirSync(empty)
    expect(await client.recall({ cwd: empty, query: 'what about it', mode: 'model' })).toMatchObject({
      skipped: 'none',
    })
    expect(api.requests).toHaveLength(0)
    const poor = await ground({ settings: { budget: { usdPerDay: 0 } } })
    expect(filesOf(await poor.ask())).toEqual(['auth.md'])
    expect(poor.api.requests).toHaveLength(0)
  })

  it('sends no credential of a question upstream', async () => {
    const { api, ask } = await ground()
    const secret = ['ghp', 'R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m'].join('_')
    api.next(selects())
    await ask({ mode: 'model', query: `why does ${secret} not work for auth` })
    expect((await api.request(1)).bytes.toString()).not.toContain(secret)
  })
})

describe('a recall that was begun ahead', () => {
  it('is pending while the model thinks, and gives what it selected', async () => {
    const { api, client, cwd } = await ground()
    let answer = (_: Answer) => {}
    const coming = new Promise<Answer>((resolve) => {
      answer = resolve
    })
    api.script(() => coming)
    const ticket = await client.prefetchRecall({ cwd, query: 'auth thing', deadlineMs: 20_000 })
    await api.request(1)
    expect(await client.collectRecall(ticket)).toEqual({ pending: true })
    answer(selects('owls.md'))
    await (await api.request(1)).closed
    let collected = await client.collectRecall(ticket)
    while ('pending' in collected) collected = await client.collectRecall(ticket)
    expect(collected).toMatchObject({ mode: 'model', memories: [{ file: 'owls.md' }] })
  })

  it('hangs up on the model when it is cancelled', async () => {
    const { api, client, cwd } = await ground()
    api.script(() => ({ fault: 'silent' }))
    const ticket = await client.prefetchRecall({ cwd, query: 'auth thing', mode: 'model' })
    const { closed } = await api.request(1)
    expect(await client.cancelRecall(ticket)).toEqual({ cancelled: true })
    expect(await closed).toMatchObject({ complete: false })
    expect(await client.collectRecall(ticket).catch(({ code }) => code)).toBe('NOT_FOUND')
  })

  it('hangs up on the model when the caller hangs up', async () => {
    const { api, client, cwd } = await ground()
    api.script(() => ({ fault: 'silent' }))
    const gone = new AbortController()
    const asking = client
      .recall({ cwd, query: 'auth thing', mode: 'model' }, { signal: gone.signal })
      .catch(() => 'gone')
    const { closed } = await api.request(1)
    gone.abort()
    expect(await asking).toBe('gone')
    expect(await closed).toMatchObject({ complete: false })
  })
})
