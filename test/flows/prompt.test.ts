import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { encodeVariables, GUIDELINES } from '../../schema/caller.ts'
import { startDaemon as startProcess } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { rawRequest } from '../support/raw.ts'

const KEY = `ghp_${'A1b2C3d4E5f6'.repeat(3)}`

function folder(home: Home, name: string): string {
  const cwd = join(home.dir, name)
  mkdirSync(cwd)
  return cwd
}

async function indexFile(daemon: { client: StrictClient }, cwd: string): Promise<string> {
  return (await daemon.client.memoryIndex({ cwd })).path
}

describe('the memory prompt over the socket', () => {
  it('is frozen for a session through kill and restart until that is renewed, and follows the index without one', async () => {
    const home = makeHome()
    const cwd = folder(home, 'project')
    const other = folder(home, 'other')
    const sessionId = '2f1c/../odd id'
    const before = await startProcess(home)
    await before.client.remember({ cwd, text: 'The release is cut by the night build' })
    const first = await before.client.memoryPrompt({ cwd, sessionId })
    expect(first).toEqual({ text: expect.stringContaining('The release is cut by the night build') })
    const elsewhere = await before.client.memoryPrompt({ cwd: other, sessionId })
    expect(elsewhere.text).not.toContain('The release is cut')
    await before.client.remember({ cwd, text: 'Staging is wiped every night' })
    await before.kill9()

    const after = await startProcess(home)
    const { client } = after
    writeFileSync(await indexFile(after, cwd), '- [By hand](by_hand.md) — edited while the daemon was away\n')
    const again = await Promise.all([1, 2, 3].map(() => client.memoryPrompt({ cwd, sessionId })))
    expect(again).toEqual([first, first, first])
    expect(await client.memoryPrompt({ cwd: other, sessionId })).toEqual(elsewhere)
    expect((await client.memoryPrompt({ cwd })).text).toContain('edited while the daemon was away')
    expect((await client.memoryPrompt({ cwd, sessionId, harness: 'pi' })).text).toContain(
      'edited while the daemon was away',
    )

    expect(await client.renewPrompt({ sessionId: 'another' })).toEqual({})
    expect(await client.memoryPrompt({ cwd, sessionId })).toEqual(first)
    expect(await client.renewPrompt({ sessionId })).toEqual({})
    expect((await client.memoryPrompt({ cwd, sessionId })).text).toContain('edited while the daemon was away')
  })

  it('is empty where memory is off, and the frozen one is back when it is on again', async () => {
    const home = makeHome()
    const cwd = folder(home, 'project')
    const { client } = await startDaemon(home)
    const first = await client.memoryPrompt({ cwd, sessionId: 's' })
    await client.pause({ cwd })
    expect(await client.memoryPrompt({ cwd, sessionId: 's' })).toEqual({ text: '', skipped: 'off' })
    expect(await client.memoryPrompt({ cwd })).toEqual({ text: '', skipped: 'off' })
    await client.resume()
    expect(await client.memoryPrompt({ cwd, sessionId: 's' })).toEqual(first)
  })

  it("carries the caller's own guidelines, else the daemon's, however long they are", async () => {
    const home = makeHome({ [GUIDELINES]: 'Write memories in French.' })
    const cwd = folder(home, 'project')
    const daemon = await startDaemon(home)
    expect((await daemon.client.memoryPrompt({ cwd })).text).toContain('Write memories in French.')
    const answer = await rawRequest(home.places.socketPath, {
      path: `/v1/memory/prompt?cwd=${encodeURIComponent(cwd)}`,
      headers: { 'x-memoryd-env': encodeVariables({ [GUIDELINES]: '好'.repeat(100_000) }) },
    })
    const { text } = JSON.parse(answer.body)
    expect(text).toContain(`${'好'.repeat(8_000)}\n\n(Cut here`)
    expect(text).not.toContain('French')
  })

  it('holds no credential that a person put into the index, nor does the state folder', async () => {
    const home = makeHome()
    const cwd = folder(home, 'project')
    const daemon = await startDaemon(home)
    await daemon.client.memoryPrompt({ cwd })
    writeFileSync(await indexFile(daemon, cwd), `- [Deploy](deploy.md) — the token is ${KEY}\n`)
    const { text } = await daemon.client.memoryPrompt({ cwd, sessionId: 's' })
    expect(text).toContain('- [Deploy](deploy.md) — the token is ')
    expect(text).not.toContain(KEY)
    await daemon.stop()
    for (const name of readdirSync(home.places.stateDir, { recursive: true, withFileTypes: true }))
      if (name.isFile()) expect(readFileSync(join(name.parentPath, name.name)).includes(KEY), name.name).toBe(false)
  })

  it.each([
    ['a session without an id', '&sessionId='],
    ['a harness that is no name', '&sessionId=s&harness=a%2Fb'],
  ])('refuses %s', async (_what, query) => {
    const home = makeHome()
    await startDaemon(home)
    const path = `/v1/memory/prompt?cwd=${encodeURIComponent(home.dir)}${query}`
    expect(await rawRequest(home.places.socketPath, { path })).toMatchObject({ status: 400 })
  })
})
