import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ENV_HEADER } from '../../schema/caller.ts'
import { claudeSession } from '../support/claude-session.ts'
import { cliMain, memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { runCommand, runHook } from '../support/hook-command.ts'
import { startDaemon } from '../support/in-process.ts'
import { rawRequest } from '../support/raw.ts'
import { turnEvents } from '../support/transcripts.ts'

function projectIn(home: Home): string {
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  return cwd
}

const start = (cwd: string, more: object = {}) => ({
  hook_event_name: 'SessionStart',
  session_id: 's',
  cwd,
  source: 'startup',
  ...more,
})

/** Asks as a hook does, and is gone before there is an answer. */
async function askAndLeave(socketPath: string, input: object) {
  const body = JSON.stringify(input)
  const socket = createConnection(socketPath)
  const head = ['POST /v1/hooks/claude-code HTTP/1.1', 'host: memoryd', 'content-type: application/json']
  socket.end(`${[...head, `content-length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`)
  await once(socket, 'finish')
  socket.destroy()
}

const contextOf = (printed: string) => JSON.parse(printed).hookSpecificOutput.additionalContext as string

describe('hooks', () => {
  it('tell Codex at its start what memoryd keeps, and Claude Code, which knows, nothing', async () => {
    const home = makeHome()
    const cwd = projectIn(home)
    await startDaemon(home)
    await connectAs(home, 'user').remember({ cwd, text: 'Always run the linter before a commit' })
    const { socketPath } = home.places
    const codex = await runHook('codex', socketPath, start(cwd, { drifted: { a: 1 } }))
    expect(codex).toMatchObject({ code: 0, stderr: '' })
    expect(contextOf(codex.stdout)).toMatch(/^<memoryd-context>\n[\s\S]*linter[\s\S]*\n<\/memoryd-context>$/)
    const again = await runHook('codex', socketPath, start(cwd, { source: 'resume' }))
    expect(again.stdout).toBe(codex.stdout)
    expect(await runHook('claude-code', socketPath, start(cwd))).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('tell of the memory that fits a prompt, once, of none that does not, and again after a compaction', async () => {
    const home = makeHome()
    const cwd = projectIn(home)
    await startDaemon(home)
    await connectAs(home, 'user').remember({ cwd, text: 'Deploys of the shop go out from the release branch only' })
    const ask = (more: object) => runHook('claude-code', home.places.socketPath, { ...start(cwd), ...more })
    const prompt = (text: string) => ask({ hook_event_name: 'UserPromptSubmit', prompt: text })
    expect((await prompt('What is the capital of France?')).stdout).toBe('')
    expect(contextOf((await prompt('How do I deploy the shop?')).stdout)).toContain('release branch only')
    expect((await prompt('And how do I deploy the shop again?')).stdout).toBe('')
    expect(contextOf((await ask({ source: 'compact' })).stdout)).toContain('release branch only')
    expect((await prompt('So how do I deploy the shop?')).stdout).toBe('')
  })

  it('are answered by the command, too', async () => {
    const home = makeHome()
    const cwd = projectIn(home)
    const command = `'${process.execPath}' '${cliMain}' hook codex`
    const env = { ...home.env, PATH: process.env.PATH ?? '' } as Record<string, string>
    expect(await runCommand(command, start(cwd), env)).toMatchObject({ code: 0, stdout: '', stderr: '' })
    await startDaemon(home)
    await connectAs(home, 'user').remember({ cwd, text: 'Always run the linter before a commit' })
    const told = await runCommand(command, start(cwd), env)
    expect(contextOf(told.stdout)).toContain('linter')
  })

  it('are answered by the command with nothing, and at once, whatever is wrong', async () => {
    const home = makeHome()
    const daemon = await startProcess(home)
    const env = { ...home.env, PATH: process.env.PATH ?? '' } as Record<string, string>
    const command = `'${process.execPath}' '${cliMain}' hook codex`
    const silent = { code: 0, stdout: '', stderr: '' }
    const given = start(projectIn(home))
    for (const odd of [{ HOME: '' }, { MEMORYD_SOCKET: 'rel.sock' }, { MEMORYD_SOCKET: `/${'x'.repeat(200)}` }])
      expect(await runCommand(command, given, { ...env, ...odd })).toMatchObject(silent)
    expect(await runCommand(command, given, env, { ends: 'never', deadline: 'own' })).toMatchObject(silent)
    daemon.signal('SIGSTOP')
    expect(await runCommand(command, given, env, { deadline: 'own' })).toMatchObject(silent)
    daemon.signal('SIGCONT')
  })

  it('say nothing and go on when the daemon hangs, and are answered again when it goes on', async () => {
    const home = makeHome()
    const cwd = projectIn(home)
    const daemon = await startProcess(home)
    await connectAs(home, 'user').remember({ cwd, text: 'Always run the linter before a commit' })
    daemon.signal('SIGSTOP')
    expect(await runHook('codex', home.places.socketPath, start(cwd), { deadline: 'own' })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
    daemon.signal('SIGCONT')
    const told = await runHook('codex', home.places.socketPath, start(cwd))
    expect(contextOf(told.stdout)).toContain('linter')
    await daemon.kill9()
    expect(await runHook('codex', home.places.socketPath, start(cwd))).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('say nothing where memory is off for the caller, and never in the form of an error', async () => {
    const home = makeHome()
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    await connectAs(home, 'user').remember({ cwd, text: 'Always run the linter before a commit' })
    const env = { PATH: process.env.PATH ?? '', CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }
    expect((await runHook('codex', home.places.socketPath, start(cwd), { env })).stdout).toBe('')
    await daemon.client.pause({ cwd })
    expect((await runHook('codex', home.places.socketPath, start(cwd))).stdout).toBe('')
    await daemon.client.resume({ cwd })
    const ask = (path: string, body: string, headers = {}) =>
      rawRequest(home.places.socketPath, {
        method: 'POST',
        path,
        body,
        headers: { 'content-type': 'application/json', ...headers },
      })
    const odd = { [ENV_HEADER]: JSON.stringify({ CLAUDE_CONFIG_DIR: 'relative' }) }
    expect(await ask('/v1/hooks/codex', JSON.stringify(start(cwd)), odd)).toMatchObject({ status: 204, body: '' })
    expect((await daemon.client.status()).errors).toEqual([])
    expect(await ask('/v1/hooks/emacs', '{}')).toMatchObject({ status: 404 })
    expect(await ask('/v1/hooks/codex', '[]')).toMatchObject({ status: 400 })
    expect(await ask('/v1/hooks/codex', '{}', { [ENV_HEADER]: '7' })).toMatchObject({ status: 400 })
    for (const bad of ['[]', 'nonsense', ''])
      expect(await runHook('codex', home.places.socketPath, bad)).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('bring mail with the next prompt or tool result, once', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    session.say('Let us begin')
    await turns.take(1)
    const send = (body: string) => daemon.client.sendMail({ from: 'reviewer', to: `session:${session.id}`, body })
    const ask = (more: object) =>
      runHook('claude-code', home.places.socketPath, { ...start(session.cwd), session_id: session.id, ...more })
    await send('The build is red since your last commit.')
    const told = contextOf((await ask({ hook_event_name: 'UserPromptSubmit', prompt: 'go on please' })).stdout)
    expect(told).toContain('Mail from reviewer')
    expect(told).toContain('> The build is red since your last commit.')
    expect((await ask({ hook_event_name: 'UserPromptSubmit', prompt: 'go on please' })).stdout).toBe('')
    await send('It is green again.')
    expect((await ask({ hook_event_name: 'Stop' })).stdout).toBe('')
    const used = { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_input: {}, tool_response: {} }
    expect(contextOf((await ask(used)).stdout)).toContain('> It is green again.')
    expect((await ask(used)).stdout).toBe('')
  })

  it('keep mail that was sent to a reader that did not take it', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const daemon = await startProcess(home)
    const turns = await turnEvents(daemon.client)
    session.say('Let us begin')
    await turns.take(1)
    await daemon.client.sendMail({ from: 'reviewer', to: `session:${session.id}`, body: 'The build is red.' })
    const input = { ...start(session.cwd), session_id: session.id, hook_event_name: 'UserPromptSubmit', prompt: 'go' }
    const waiting = async () => (await daemon.client.mail({ agent: `session:${session.id}` })).items.length
    process.kill(daemon.pid, 'SIGSTOP')
    await askAndLeave(home.places.socketPath, input)
    process.kill(daemon.pid, 'SIGCONT')
    const hooked = async () => (await daemon.client.status()).harnesses.some(({ lastHookAt }) => lastHookAt)
    await expect.poll(hooked).toBe(true)
    expect(await waiting()).toBe(1)
    expect(contextOf((await runHook('claude-code', home.places.socketPath, input)).stdout)).toContain('> The build')
    // The daemon hears that it was taken from the system, some time after the hook has ended.
    await expect.poll(waiting).toBe(0)
  })

  it('have a transcript read that lies outside the roots, at the end of a turn', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const daemon = await startDaemon(home)
    const turns = await turnEvents(daemon.client)
    session.say('Always use tabs in this project')
    const elsewhere = session.file.replace('.claude', 'elsewhere')
    mkdirSync(dirname(elsewhere), { recursive: true })
    renameSync(session.file, elsewhere)
    const stop = { ...start(session.cwd), hook_event_name: 'Stop', session_id: session.id, transcript_path: elsewhere }
    expect((await runHook('claude-code', home.places.socketPath, stop)).stdout).toBe('')
    expect(await turns.take(1)).toMatchObject([{ harness: 'claude-code', sessionId: session.id, end: 'final' }])
  })

  it('have what a session leaves looked through when it ends, however few its turns', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ extraction: { everyTurns: 10 } }))
    const session = claudeSession(home)
    const daemon = await startDaemon(home)
    const events = daemon.client.events()[Symbol.asyncIterator]()
    await events.next()
    session.say('From now on always use tabs for indentation in this project.')
    const at = { ...start(session.cwd), session_id: session.id, transcript_path: session.file }
    await runHook('claude-code', home.places.socketPath, { ...at, hook_event_name: 'SessionEnd', reason: 'other' })
    for (let next = await events.next(); !next.done; next = await events.next()) if (next.value.type === 'saved') break
    const { items } = await daemon.client.memories({ cwd: session.cwd })
    expect(items).toHaveLength(1)
  })

  it('are seen in the status, also by the next daemon', async () => {
    const home = makeHome()
    const cwd = projectIn(home)
    const daemon = await startDaemon(home)
    const before = (await daemon.client.status()).harnesses
    expect(before).toEqual(['claude-code', 'codex', 'gemini', 'pi'].map((name) => ({ name, connected: false })))
    await runHook('gemini', home.places.socketPath, start(cwd))
    const seen = (await daemon.client.status()).harnesses.find(({ name }) => name === 'gemini')
    expect(seen).toEqual({ name: 'gemini', connected: false, lastHookAt: expect.any(String) })
    expect((await memoryd(home, 'status')).stdout).toContain(`gemini (not connected, last hook ${seen?.lastHookAt})`)
    await daemon.stop()
    const next = await startDaemon(home)
    expect((await next.client.status()).harnesses).toContainEqual(seen)
  })
})
