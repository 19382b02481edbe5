import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createLedger, dayOf } from '../../daemon/models/budget.ts'
import { blankNotes, DEFAULT_TEMPLATE } from '../../daemon/notes/template.ts'
import { claudeSession } from '../support/claude-session.ts'
import { memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { statusEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { calls, says } from '../support/messages-api/answers.ts'
import type { MessagesApi } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { append, genericRoot } from '../support/transcripts.ts'

const fixed = DEFAULT_TEMPLATE.flatMap(({ heading, about }) => [heading, about])
const about = (title: string) => DEFAULT_TEMPLATE.find((section) => section.title === title)?.about ?? ''
const fileOf = (home: Home, id = 'session-1') => join(home.places.stateDir, 'sessions', id, 'notes.md')
const textOf = (home: Home, id?: string) => readFileSync(fileOf(home, id), 'utf8')
const SECRET = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`

type Session = ReturnType<typeof claudeSession>

/** An answer that says what was in the context. */
const used = (line: object, tokens: number) => {
  const { message } = line as { message: object }
  return { ...line, message: { ...message, usage: { input_tokens: tokens - 10, output_tokens: 10 } } }
}
const turn = (session: Session, asks: string, tokens: number, ...work: object[]) =>
  session.write(session.person(asks), ...work, used(session.answer(`Done: ${asks}`), tokens))

async function running(home: Home) {
  const daemon = await startDaemon(home)
  return { ...daemon, ends: await jobEnds(daemon.client, 'notes') }
}
async function online(script?: Parameters<MessagesApi['script']>[0]) {
  const api = await startMessagesApi({ keys: ['test-key'] })
  if (script) api.script(script)
  const home = makeHome({ ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
  // Which asks models too.
  writeFileSync(home.places.configFile, JSON.stringify({ extraction: { enabled: false } }))
  return { api, home }
}
const edit = (id: string, old_string: string, new_string: string, file_path = 'notes.md') => ({
  id,
  name: 'Edit',
  input: { file_path, old_string, new_string },
})

describe('the notes of a session', () => {
  it('appear at ten thousand tokens, offline, and name what was asked, touched, run and wrong', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    turn(session, 'Look around', 9_999)
    expect((await ends.next()).result).toEqual({ skipped: 'there is too little in it yet' })
    expect(await client.sessionNotes({ id: session.id })).toEqual({ content: '', tokens: 0 })
    expect((await memoryd({ ...home, dir: session.cwd }, 'notes')).stdout).toBe(
      'there are no notes of session session-1 yet\n',
    )
    const ofHarness = async (name: string) => memoryd({ ...home, dir: session.cwd }, 'notes', '--harness', name)
    expect(await ofHarness('claude-code')).toMatchObject({ stdout: 'there are no notes of session session-1 yet\n' })
    expect(await ofHarness('codex')).toMatchObject({ code: 1, stderr: expect.stringContaining('no session of this') })
    turn(
      session,
      `Fix src/cart.ts with ${SECRET} <private>and not a word</private>`,
      10_000,
      ...session.call('Edit', { file_path: join(session.cwd, 'src/cart.ts'), old_string: 'a', new_string: 'b' }),
      ...session.call('Bash', { command: 'npm test' }, 'TypeError: total is not a function'),
    )
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 10_000 })
    const text = textOf(home)
    for (const what of ['Look around', 'Fix src/cart.ts', 'src/cart.ts (edited)', '`npm test`', 'TypeError: total'])
      expect(text).toContain(what)
    expect(text).not.toMatch(/ghp_|not a word/)
    expect(text.split('\n').filter((line) => fixed.includes(line))).toEqual(fixed)
    expect(statSync(fileOf(home)).mode & 0o777).toBe(0o600)
    const notes = await client.sessionNotes({ id: session.id })
    expect(notes).toEqual({
      content: text,
      tokens: expect.any(Number),
      lastMessageId: expect.stringMatching(/^session-1-\d+$/),
      updatedAt: expect.any(String),
      source: 'rules',
    })
    const shown = await memoryd({ ...home, dir: session.cwd }, 'notes')
    expect(shown.stdout).toContain('`npm test`')
    expect(shown.stdout).toMatch(/\(written .* by rules, without a model\)\n$/)
    const json = await memoryd({ ...home, dir: session.cwd }, 'notes', session.id, '--json')
    expect(JSON.parse(json.stdout)).toEqual({ sessionId: session.id, ...notes })
  })

  it('are written again after five thousand tokens and three calls, or a turn without any', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    const bash = (n: number) => session.call('Bash', { command: `echo ${n}` })
    turn(session, 'Begin', 20_000)
    expect((await ends.next()).result).toMatchObject({ by: 'rules' })
    turn(session, 'One', 24_999, ...bash(1), ...bash(2), ...bash(3))
    expect((await ends.next()).result).toEqual({ skipped: 'too little was said since' })
    const { lastMessageId } = await client.sessionNotes({ id: session.id })
    turn(session, 'Two', 25_000, ...bash(4))
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 25_000 })
    expect((await client.sessionNotes({ id: session.id })).lastMessageId).not.toBe(lastMessageId)
    turn(session, 'Three', 30_000, ...bash(5), ...bash(6))
    expect((await ends.next()).result).toEqual({ skipped: 'the agent is in the middle of it' })
    turn(session, 'Four', 30_001)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 30_001 })
    for (const what of ['- Begin', '- One', '- Two', '- Three', '- Four', 'echo 6'])
      expect(textOf(home)).toContain(what)
    // Compacted by the harness: growth is counted from what was left.
    turn(session, 'Five', 8_000)
    expect((await ends.next()).result).toEqual({ skipped: 'too little was said since' })
    turn(session, 'Six', 13_000)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 13_000 })
  })

  it('are estimated where a harness does not count', async () => {
    const home = makeHome()
    const root = genericRoot(home)
    const { client, ends } = await running(home)
    const at = new Date().toISOString()
    const say = (bytes: number) =>
      append(
        join(root, 'plain.jsonl'),
        { type: 'session', id: 'plain', cwd: home.dir, at },
        { type: 'user', text: 'x '.repeat(bytes / 2), at },
        { type: 'assistant', text: 'ok', end: 'final', at },
      )
    say(4_000)
    expect((await ends.next()).result).toEqual({ skipped: 'there is too little in it yet' })
    say(26_000)
    // (1,000 + 1 + 6,500 + 1) · 4/3
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 10_003 })
    expect((await client.sessionNotes({ id: 'plain' })).source).toBe('rules')
  })

  it('follow their settings: off, or with other numbers', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ notes: { enabled: false, initTokens: 100 } }))
    const session = claudeSession(home)
    const { ends, client } = await running(home)
    turn(session, 'Hello', 50_000)
    expect((await ends.next()).result).toEqual({ skipped: 'notes are off' })
    const events = statusEvents(client)
    await events.next()
    writeFileSync(
      home.places.configFile,
      JSON.stringify({ extraction: { enabled: false }, notes: { initTokens: 100 } }),
    )
    expect(await events.next()).toMatchObject({ value: { change: 'settings' } })
    turn(session, 'Again', 101)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 101 })
  })

  it('are neither made nor told where memory is off or the folder is private', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends, stop } = await running(home)
    const person = connectAs(home, 'user')
    await person.pause({ cwd: session.cwd })
    turn(session, 'Hush', 50_000)
    expect((await ends.next()).result).toEqual({ skipped: `memory is off there: paused in ${session.cwd}` })
    await person.resume({ cwd: session.cwd })
    turn(session, 'Speak', 50_001)
    expect((await ends.next()).result).toMatchObject({ by: 'rules' })
    expect((await client.sessionNotes({ id: session.id })).content).toContain('Speak')
    await expect(client.sessionNotes({ id: 'unknown' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await stop()
    writeFileSync(home.places.configFile, JSON.stringify({ private: [session.cwd] }))
    const later = await startDaemon(home)
    await expect(later.client.sessionNotes({ id: session.id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('go on where they were when the index is made anew, and when the file is gone begin again', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const first = await running(home)
    turn(session, 'Begin', 12_000)
    await first.ends.next()
    const before = await first.client.sessionNotes({ id: session.id })
    await first.stop()
    for (const end of ['', '-wal', '-shm']) rmSync(join(home.places.stateDir, `index.db${end}`), { force: true })
    const { client, ends } = await running(home)
    await ends.next()
    expect(await client.sessionNotes({ id: session.id })).toEqual(before)
    turn(session, 'On', 17_000)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 17_000 })
    expect(textOf(home).match(/^- (?:Begin|On)$/gm)).toEqual(['- Begin', '- On'])
    rmSync(fileOf(home))
    turn(session, 'Anew', 17_100)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 17_100 })
    expect(textOf(home).match(/^- (?:Begin|On|Anew)$/gm)).toEqual(['- Begin', '- On', '- Anew'])
  })

  it('of a fork cover what it goes on from', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { ends } = await running(home)
    turn(session, 'Of the origin', 5_000)
    await ends.next()
    const fork = claudeSession(home, 'fork-1')
    const copied = readFileSync(session.file, 'utf8').trimEnd().split('\n')
    fork.write(...copied.map((line) => ({ ...JSON.parse(line), sessionId: 'fork-1' })))
    turn(fork, 'Of the fork', 12_000)
    while ((await ends.next()).key !== 'claude-code fork-1' || !existsSync(fileOf(home, 'fork-1'))) {}
    expect(textOf(home, 'fork-1').match(/^- Of the .*$/gm)).toEqual(['- Of the origin', '- Of the fork'])
  })

  it('leave out what sub-agents said and what was taken back', async () => {
    const home = makeHome()
    const root = genericRoot(home)
    const { ends } = await running(home)
    const at = new Date().toISOString()
    append(
      join(root, 's.jsonl'),
      { type: 'session', id: 's', cwd: home.dir, at },
      { type: 'user', id: '1', text: 'Kept words', at },
      { type: 'assistant', id: '2', text: 'ok', end: 'final', usage: { input: 9, output: 1 }, at },
      { type: 'user', id: '3', text: 'Dropped words', at },
      { type: 'rewind', from: '3' },
      { type: 'context', text: 'Injected words', at },
      { type: 'user', id: '4', text: 'Delegated words', subAgent: 'a', at },
      { type: 'user', id: '5', text: 'Last words', at },
      { type: 'assistant', id: '6', text: 'fine', end: 'final', usage: { input: 11_999, output: 1 }, at },
    )
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 12_000 })
    expect(textOf(home, 's').match(/^- \w+ words$/gm)).toEqual(['- Kept words', '- Last words'])
    expect(textOf(home, 's')).not.toMatch(/Dropped|Injected|Delegated/)
  })

  it('say nothing any more once a memory was purged, and do not say it again', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    turn(session, 'The launch word is heliotrope', 50_000)
    await ends.next()
    const person = connectAs(home, 'user')
    const { file } = await person.remember({ cwd: session.cwd, text: 'The launch word is heliotrope' })
    await person.forget({ cwd: session.cwd, file: file ?? '', purge: 'true' })
    expect(textOf(home)).toBe('')
    expect(await client.sessionNotes({ id: session.id })).toMatchObject({ content: '', lastMessageId: 'session-1-2' })
    turn(session, 'Something else', 55_000)
    expect((await ends.next()).result).toMatchObject({ by: 'rules' })
    expect(textOf(home)).toContain('Something else')
    expect(textOf(home)).not.toContain('heliotrope')
  })
})

describe('notes by a model', () => {
  it('are edited by a fork that may do nothing else, and hold no credential', async () => {
    const { api, home } = await online()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    api.next(
      calls(
        { id: 'a', name: 'Read', input: { file_path: 'notes.md' } },
        { id: 'b', name: 'Bash', input: { command: 'cat notes.md' } },
        { id: 'c', name: 'Write', input: { file_path: 'notes.md', content: 'all mine' } },
        edit('d', 'x', 'y', '../../history.db'),
        edit('e', 'x', 'y', join(session.cwd, 'a.ts')),
      ),
      calls(
        edit('f', about('Session Title'), `${about('Session Title')}\n\nThe cart's total`),
        edit('g', about('Learnings'), `${about('Learnings')}\n\nThe key is ${SECRET}.`),
      ),
    )
    turn(session, `Fix the total; the token is ${SECRET}`, 12_000)
    expect((await ends.next()).result).toEqual({ by: 'model', tokens: 12_000 })
    expect(textOf(home)).toBe(
      blankNotes(DEFAULT_TEMPLATE)
        .replace(`${about('Session Title')}\n`, `${about('Session Title')}\n\nThe cart's total\n`)
        .replace(`${about('Learnings')}\n`, `${about('Learnings')}\n\nThe key is [redacted:github-token].\n`),
    )
    expect(await client.sessionNotes({ id: session.id })).toMatchObject({
      source: 'model',
      lastMessageId: 'session-1-2',
    })
    expect(api.requests).toHaveLength(2)
    const asked = api.requests.map(({ bytes }) => bytes.toString()).join()
    expect(asked.includes(SECRET)).toBe(false)
    expect(asked.includes('Fix the total')).toBe(true)
    const [, second] = api.requests
    const results = JSON.stringify(second?.body?.messages.at(-1))
    expect(results.match(/Denied: /g)).toHaveLength(5)
    expect(readdirSync(join(home.places.stateDir, 'sessions', session.id))).toEqual(['notes.md'])
    expect((await client.cost({ by: 'job' })).items).toMatchObject([{ key: 'notes', calls: 2 }])
  })

  it('keep their structure whatever the model does to it', async () => {
    const { api, home } = await online()
    const session = claudeSession(home)
    const { ends } = await running(home)
    const whole = blankNotes(DEFAULT_TEMPLATE).trimEnd()
    api.next(calls(edit('a', whole, '# Worklog\nlast\n\n# My own section\nwords\n\n# current state\nfirst\n```\nopen')))
    turn(session, 'Go', 12_000)
    expect((await ends.next()).result).toEqual({ by: 'model', tokens: 12_000 })
    const text = textOf(home)
    expect(text.split('\n').filter((line) => fixed.includes(line))).toEqual(fixed)
    expect(text).toContain(`${about('Worklog')}\n\nlast\n\n## My own section\nwords\n`)
    expect(text).toContain(`${about('Current State')}\n\nfirst\n\`\`\`\nopen\n\`\`\`\n`)
  })

  it('go on from what was noted, name what is new, and read from the cache what was written there', async () => {
    const { api, home } = await online()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    api.next(calls(edit('a', about('Worklog'), `${about('Worklog')}\n\n- began`)))
    turn(session, `Go ${'with many words '.repeat(1_500)}`, 12_000)
    await ends.next()
    api.next(calls(edit('b', '- began', '- began\n- went on')))
    turn(session, 'On', 17_000)
    expect((await ends.next()).result).toEqual({ by: 'model', tokens: 17_000 })
    expect(textOf(home)).toContain('- began\n- went on')
    const [first, second] = api.requests
    expect(second?.bytes.includes('from message m3 on')).toBe(true)
    expect(first?.bytes.includes('all of it is new')).toBe(true)
    expect(second?.usage?.read).toBeGreaterThan(4_000)
    api.next(says('Nothing to add.'))
    turn(session, 'Fine', 22_000)
    expect((await ends.next()).result).toEqual({ by: 'model', tokens: 22_000 })
    expect(await client.sessionNotes({ id: session.id })).toMatchObject({ lastMessageId: 'session-1-6' })
  })

  it('are made by rules of what the model is not told, when the session is older than what is told', async () => {
    const { api, home } = await online((seen) =>
      seen.body.messages.length === 1
        ? calls(edit('a', about('Learnings'), `${about('Learnings')}\n\nSeen by a model.`))
        : says('done'),
    )
    const session = claudeSession(home)
    for (let n = 0; n < 12; n++)
      session.write(
        session.person(`Ask ${n}: ${'many words of it '.repeat(1_300)}`),
        used(session.answer(`Said ${n}`), 1_000 * n + 9_000),
      )
    const { ends } = await running(home)
    expect((await ends.next()).result).toMatchObject({ by: 'model' })
    expect(textOf(home)).toContain('Seen by a model.')
    expect(textOf(home)).toContain('- Ask 0: many words')
    expect(api.requests[0]?.bytes.includes('id=\\"m2\\"')).toBe(false)
  })

  it('are made by rules when the day is paid for, and by a model again when there is money', async () => {
    const { api, home } = await online()
    const store = openDatabases(home.places.stateDir, Date.now())
    const spent = { at: Date.now(), day: dayOf(Date.now()), job: 'x', project: undefined, model: 'm', bytes: 1 }
    createLedger(store.history).reserve({ ...spent, nanos: 1_000_000_000, uncached: 1 }, () => undefined)
    store.close()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    turn(session, 'Poor', 12_000)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 12_000 })
    expect(api.requests).toHaveLength(0)
    expect((await client.sessionNotes({ id: session.id })).source).toBe('rules')
  })

  it('are made by rules when the server refuses for good', async () => {
    const { api, home } = await online(() => ({ status: 400, type: 'invalid_request_error', message: 'no' }))
    const session = claudeSession(home)
    const { ends } = await running(home)
    turn(session, 'Refused', 12_000)
    expect((await ends.next()).result).toEqual({ by: 'rules', tokens: 12_000 })
    expect(api.requests).toHaveLength(1)
    expect(textOf(home)).toContain('- Refused')
  })

  it("follow a person's own template and instructions, and say when they cannot be used", async () => {
    const { api, home } = await online()
    const session = claudeSession(home)
    const folder = join(home.dir, '.claude', 'session-memory', 'config')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'template.md'), '# Goal\n_What for_\n\n# Done\n')
    writeFileSync(join(folder, 'prompt.md'), 'Costs $& of {{sessionId}}: {{currentNotes}}')
    const { client, ends } = await running(home)
    api.next(calls(edit('a', '# Goal\n_What for_', 'Win\n# Done\n{{sessionId}} $1')))
    turn(session, 'Go', 12_000)
    await ends.next()
    const asked = JSON.stringify(api.requests[0]?.body?.messages.at(-1))
    expect(asked).toContain(
      'Costs $& of session-1: <current-notes>\\n# Goal\\n_What for_\\n\\n# Done\\n\\n</current-notes>',
    )
    expect(textOf(home)).toBe('# Goal\n_What for_\n\nWin\n\n# Done\n\n{{sessionId}} $1\n')
    writeFileSync(join(folder, 'template.md'), 'no heading')
    api.next(says('Nothing.'))
    turn(session, 'On', 17_000)
    await ends.next()
    expect(await client.status()).toMatchObject({
      state: 'degraded',
      reasons: [{ code: 'notes', message: expect.stringContaining('template.md cannot be used') }],
    })
    rmSync(join(folder, 'template.md'))
    api.next(says('Nothing.'))
    turn(session, 'On', 22_000)
    await ends.next()
    expect(await client.status()).toMatchObject({ state: 'ready' })
  })

  it('are whole and known for what they cover when the daemon is killed in the middle', async () => {
    const { api, home } = await online()
    const session = claudeSession(home)
    const daemon = await startProcess(home)
    const first = { ...daemon, ends: await jobEnds(daemon.client, 'notes') }
    api.next(calls(edit('a', about('Worklog'), `${about('Worklog')}\n\n- began`)))
    turn(session, 'Begin', 12_000)
    await first.ends.next()
    const before = await first.client.sessionNotes({ id: session.id })
    api.next({ fault: 'silent' })
    turn(session, 'Go on', 17_000)
    await api.request(2)
    expect(await first.client.sessionNotes({ id: session.id })).toEqual({
      ...before,
      updatingSince: expect.any(String),
    })
    await first.kill9()
    api.next(calls(edit('b', '- began', '- began\n- went on')))
    const { client, ends } = await running(home)
    expect((await ends.next()).result).toEqual({ by: 'model', tokens: 17_000 })
    expect(textOf(home)).toContain('- began\n- went on')
    expect(await client.sessionNotes({ id: session.id })).toMatchObject({ lastMessageId: 'session-1-4' })
    expect(existsSync(join(home.places.stateDir, 'sessions', session.id, 'notes.md'))).toBe(true)
  })
})
