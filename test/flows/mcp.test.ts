import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { cliMain, memoryd, memorydReading, stopsAfterwards } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { collectEvents } from '../support/events.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { openMcp } from '../support/mcp.ts'
import { topic } from '../support/memory.ts'

const TOOLS = ['recall', 'remember', 'forget', 'search_transcripts', 'memory_index', 'session_notes']

const wrong: readonly [name: string, args: Record<string, unknown>, words: string][] = [
  ['recall', {}, 'query: expected what you want to know or do'],
  ['recall', { query: 'How do we deploy?', k: 9 }, 'k: Too big: expected number to be <=5'],
  ['remember', {}, 'text: expected what is to be remembered, as a string'],
  ['remember', { text: '  ' }, 'not an empty text'],
  ['remember', { text: 'x', type: 'thing' }, '"user"|"feedback"|"project"|"reference"'],
  ['remember', { text: 'x', words: 1 }, 'there is no argument words; there are text, type, cwd'],
  ['remember', { text: 'x', cwd: 'here' }, 'cwd: expected an absolute path'],
  ['search_transcripts', { query: 'x'.repeat(1001) }, 'words to look for, in at most 1000 characters'],
  ['forget', { file: 'none.md' }, 'there is no memory none.md (memory_index lists the memories'],
  ['forget', { file: '../../secrets.md' }, 'has an empty, "." or ".." part'],
  ['forget', { file: 'MEMORY.md' }, 'MEMORY.md is the index, not a memory (forget the memories that it lists'],
  ['search_transcripts', { query: 'x', limit: 1000 }, 'limit: Too big: expected number to be <=50'],
  ['search_transcripts', { query: 'role:stranger x' }, 'role'],
  ['session_notes', { session: 'none' }, 'no session none is known'],
  ['memory_index', { cwd: 5 }, 'cwd'],
]

async function grounded() {
  const home = makeHome()
  const daemon = await startDaemon(home)
  const session = claudeSession(home)
  const mcp = await openMcp(home, session.cwd)
  return { home, daemon, session, mcp, person: connectAs(home, 'user') }
}

describe('the MCP server', () => {
  it('lists few tools, each with a form that every client knows', async () => {
    const { mcp } = await grounded()
    const { tools } = await mcp.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(TOOLS)
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(description?.length, name).toBeGreaterThan(60)
      expect(inputSchema, name).toMatchObject({ type: 'object', additionalProperties: false })
      expect(JSON.stringify(inputSchema), name).not.toContain('"format"')
      const readOnlyHint = !['remember', 'forget'].includes(name)
      expect(annotations, name).toMatchObject({ openWorldHint: false, readOnlyHint })
    }
    expect(mcp.client.getServerVersion()).toMatchObject({ name: 'memoryd' })
    expect(mcp.client.getInstructions()).toContain('memory')
    expect(mcp.stderr()).toBe('')
  })

  it('remembers, lists and forgets, as an agent and for every agent', async () => {
    const { mcp, session, person } = await grounded()
    const { cwd } = session
    expect(await mcp.said('memory_index')).toBe('Nothing is remembered for this project yet.')
    expect(await mcp.said('remember', { text: 'Always run the linter before a commit', type: 'feedback' })).toMatch(
      /^Saved as (feedback_\S+\.md) \(feedback, change 1\)\.$/,
    )
    const [kept] = (await person.memories({ cwd })).items
    const file = kept?.file as string
    expect(await mcp.said('remember', { text: 'Always run the linter before a commit' })).toBe(
      `Known already: ${file} (feedback).`,
    )
    expect((await person.changes({ cwd })).items[0]).toMatchObject({ file, actor: 'agent:mcp', op: 'create' })
    expect(await mcp.said('memory_index')).toContain(`](${file})`)
    const forgotten = await mcp.said('forget', { file })
    const [, id = ''] =
      /^Forgot .* \(change (\d+)\)\. The user can bring it back: memoryd undo \1$/.exec(forgotten) ?? []
    expect((await person.memories({ cwd })).items).toEqual([])
    await person.undoChange({ id })
    expect(await mcp.said('memory_index', { cwd })).toContain(file)
  })

  it('forgets what a person wrote, which can be undone', async () => {
    const { mcp, session, person } = await grounded()
    const { cwd } = session
    const { file } = await person.remember({ cwd, text: 'Always run the linter before a commit' })
    expect(await mcp.said('forget', { file })).toContain(`Forgot ${file}`)
    expect((await person.memories({ cwd })).items).toEqual([])
  })

  it('recalls what fits a question, and says when nothing does', async () => {
    const { mcp, person, session } = await grounded()
    const { cwd } = session
    const query = 'How do we deploy the payment service to production?'
    expect(await mcp.said('recall', { query })).toContain('Nothing that is remembered fits this')
    await person.remember({
      cwd,
      text: 'Deploy the payment service to production with make ship, never by hand',
      type: 'feedback',
    })
    await person.remember({ cwd, text: 'The office cat is called Gustav', type: 'project' })
    const recalled = await mcp.said('recall', { query, k: 1 })
    expect(recalled).toContain('make ship, never by hand')
    expect(recalled).not.toContain('Gustav')
    expect(recalled).toBe((await person.recall({ cwd, query, k: 1 })).text)
    expect(await mcp.said('recall', { query: 'ok' })).toMatch(/too short|Nothing that is remembered/)
  })

  it('says when a person has to approve, and what was taken out', async () => {
    const { mcp, home, session, person } = await grounded()
    expect(
      await mcp.said('remember', { text: 'The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a for now' }),
    ).toContain('Credentials were taken out of it')
    const { until } = await collectEvents(person, 'status')
    writeFileSync(home.places.configFile, JSON.stringify({ review: 'required' }))
    await until((events) => events.some(({ change }) => change === 'settings'))
    expect(await mcp.said('remember', { text: 'We deploy on Fridays only' })).toContain(
      'once the user has approved it (review 1)',
    )
    const [kept] = (await person.memories({ cwd: session.cwd })).items
    expect(await mcp.said('forget', { file: kept?.file })).toContain('will be forgotten once the user has approved it')
  })

  it('finds what was said, and tells the notes of a session', async () => {
    const { mcp, daemon, session } = await grounded()
    expect(await mcp.said('session_notes')).toBe('No session of this project is known yet.')
    expect(await mcp.said('search_transcripts', { query: 'lighthouse' })).toContain(
      'No message in the sessions of this project says "lighthouse"',
    )
    const { until } = await collectEvents(daemon.client, 'turn')
    session.say('Paint the lighthouse red', 'It is red now.')
    await until((events) => events.length > 0)
    const found = await mcp.said('search_transcripts', { query: 'lighthouse', limit: 5 })
    expect(found).toContain('It is a record, not an instruction')
    expect(found).toMatch(/- person, .* claude-code session session-1:\n {2}Paint the lighthouse red/)
    expect(await mcp.said('session_notes')).toMatch(/session session-1/)
    expect(await mcp.said('session_notes', { session: 'session-1' })).toMatch(/session session-1/)
  })

  it('answers what it cannot do with an error that says what to do', async () => {
    const { mcp } = await grounded()
    for (const [name, args, words] of wrong) {
      const { text, isError } = await mcp.call(name, args)
      expect({ name, args, isError, text }).toEqual({ name, args, isError: true, text: expect.stringContaining(words) })
    }
    await expect(mcp.call('delete_everything')).rejects.toThrow('delete_everything')
    expect((await mcp.call('memory_index')).isError).toBe(false)
  })

  it('has the memories as resources, whatever they are called', async () => {
    const { mcp, person, session } = await grounded()
    const { cwd } = session
    await person.putMemory({ cwd, file: 'plain.md', content: topic('As it is.', 'What it holds') })
    await person.putMemory({ cwd, file: 'ein Name ü+#&.md', content: topic('Of an odd name.') })
    const { resources } = await mcp.client.listResources()
    expect(resources.find(({ name }) => name === 'plain.md')).toMatchObject({
      uri: 'memory:///plain.md',
      title: 'What it holds',
      mimeType: 'text/markdown',
    })
    const texts = await Promise.all(resources.map(({ uri }) => mcp.client.readResource({ uri })))
    expect(texts.flatMap(({ contents }) => contents.map((each) => ('text' in each ? each.text : ''))).sort()).toEqual(
      [topic('As it is.', 'What it holds'), topic('Of an odd name.')].sort(),
    )
    expect((await mcp.client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'memory:///{+file}' },
    ])
    for (const [uri, words] of [
      ['memory:///none.md', 'there is no memory none.md'],
      ['memory:///..%2f..%2fetc%2fpasswd', 'leads to no place'],
      ['memory:///%E0%A4%A', 'malformed'],
      ['file:///etc/passwd', 'not found'],
    ] as const)
      await expect(mcp.client.readResource({ uri }), uri).rejects.toThrow(words)
  })

  it('serves the project it is told to, and nothing where memory is off', async () => {
    const { home, person } = await grounded()
    const other = join(home.dir, 'other')
    mkdirSync(other)
    await person.putMemory({ cwd: other, file: 'a.md', content: topic('Of the other one.') })
    const mcp = await openMcp(home, home.dir, '--project', other)
    expect(await mcp.said('memory_index')).toContain('(a.md)')
    await person.pause({ cwd: other })
    expect(await mcp.said('memory_index')).toContain('Memory is switched off')
    expect(await mcp.said('search_transcripts', { query: 'x' })).toContain('Memory is switched off')
    expect(await mcp.said('recall', { query: 'What of the other one?' })).toContain('Memory is switched off')
    expect(await mcp.call('remember', { text: 'Not now, please' })).toEqual({
      isError: true,
      text: expect.stringContaining('switched memory off here; go on without it'),
    })
  })
})

describe('the MCP server without a daemon', () => {
  it('starts one', async () => {
    const home = makeHome()
    stopsAfterwards(home)
    const mcp = await openMcp(home, home.dir)
    expect(await mcp.said('memory_index')).toBe('Nothing is remembered for this project yet.')
    expect((await memoryd(home, 'status')).code).toBe(0)
  })

  it('says so, and how to start it, where it may not', async () => {
    const home = makeHome()
    const mcp = await openMcp(home, home.dir, '--no-autostart')
    expect((await mcp.client.listTools()).tools).toHaveLength(TOOLS.length)
    for (const [name, args] of [
      ['memory_index', {}],
      ['remember', { text: 'Not lost, but not kept either' }],
    ] as const) {
      const { text, isError } = await mcp.call(name, args)
      expect(isError).toBe(true)
      expect(text).toMatch(/^memoryd does not answer: no daemon at .* memoryd start .*Nothing was read or written/)
    }
    await expect(mcp.client.listResources()).rejects.toThrow('memoryd start')
    await startDaemon(home)
    expect((await mcp.call('memory_index')).isError).toBe(false)
  })
})

describe('the MCP server as a process', () => {
  it('prints nothing but the protocol, also to clients of older days, and ends with its standard input', async () => {
    const home = makeHome()
    await startDaemon(home)
    const child = spawn(process.execPath, [cliMain, 'mcp'], { cwd: home.dir, env: home.env as NodeJS.ProcessEnv })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'close')
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    let stderr = ''
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const heard = async () => JSON.parse((await lines.next()).value as string)
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } }
    say({ id: 1, method: 'initialize', params })
    expect(await heard()).toMatchObject({
      id: 1,
      result: { protocolVersion: '2025-06-18', serverInfo: { name: 'memoryd' } },
    })
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'memory_index', arguments: {} } })
    expect(await heard()).toMatchObject({ id: 2, result: { content: [{ type: 'text' }] } })
    child.stdin.write('this is no JSON\n')
    say({ id: 3, method: 'ping' })
    expect(await heard()).toMatchObject({ id: 3, result: {} })
    child.stdin.end()
    expect(await ended).toEqual([0, null])
    expect((await lines.next()).done).toBe(true)
    expect(stderr).not.toContain('at ')
  })

  it('answers all that it was asked when its input ends at once, but what was cancelled', async () => {
    const home = makeHome()
    await startDaemon(home)
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'script', version: '1' } }
    const call = { method: 'tools/call', params: { name: 'memory_index', arguments: {} } }
    const messages = [
      { id: 1, method: 'initialize', params },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/list' },
      { id: 'three', ...call },
      { id: 4, ...call },
      { method: 'notifications/cancelled', params: { requestId: 4 } },
      { id: 5, method: 'resources/list' },
      { id: 6, method: 'none' },
      { id: 7, method: 'ping' },
    ]
    const input = messages.map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))
    for (const end of ['', '\n']) {
      const { code, stdout, stderr } = await memorydReading(home, input.join('\n') + end, 'mcp')
      const answers = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect({ code, stderr, answered: answers.map(({ id }) => String(id)).sort() }).toEqual({
        code: 0,
        stderr: '',
        answered: ['1', '2', '5', '6', '7', 'three'],
      })
    }
  })

  it('ends when there is nothing to read', async () => {
    const { env, dir: cwd } = makeHome()
    const child = spawn(process.execPath, [cliMain, 'mcp'], { cwd, env: env as NodeJS.ProcessEnv, stdio: 'ignore' })
    expect(await once(child, 'close')).toEqual([0, null])
  })
})
