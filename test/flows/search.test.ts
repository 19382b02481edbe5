import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createMessageWords } from '../../daemon/transcripts/message-index.ts'
import { memoryd } from '../support/cli.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'

const SECRET = ['ghp', 'R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd0m'].join('_')

/** One session of the project in the home, with what a person said in it; the words are put without the credential. */
function heard(home: Home, said: string, indexed: string): string {
  const path = join(home.dir, 'one.jsonl')
  writeFileSync(path, `${JSON.stringify({ type: 'user', id: 'm1', text: said })}\n`)
  mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
  const store = openDatabases(home.places.stateDir, Date.UTC(2026, 0, 1))
  store.index().exec(`
    INSERT INTO files (id, harness, path, root, cursor, known, born)
      VALUES (1, 'generic', '${path}', '${home.dir}', '{}', '{}', 0);
    INSERT INTO sessions (id, harness, session, project) VALUES (1, 'generic', 'one', '${home.dir}');
    INSERT INTO messages (id, session, file, offset, length, uid, at, said_by, sub_agent, starts_turn, tool_calls)
      VALUES (1, 1, 1, 0, ${Buffer.byteLength(readFileSync(path)) - 1}, 'm1', ${Date.UTC(2026, 0, 1)}, 'person', '', 1, 0);`)
  createMessageWords(store.index()).put([{ id: 1, text: indexed }])
  store.close()
  return path
}

describe('memoryd search', () => {
  it('shows who said what, when and where, and nothing that would steer a terminal', async () => {
    const home = makeHome()
    const path = heard(home, 'the token\u001b[2J refresh fails', 'the token refresh fails')
    await startDaemon(home)
    expect(await memoryd(home, 'search', 'token', 'refresh')).toEqual({
      code: 0,
      stdout: 'person  2026-01-01 00:00  generic session one\n  the token\ufffd[2J refresh fails\n',
      stderr: '',
    })
    const { stdout } = await memoryd(home, 'search', '"refresh fails"', '--json')
    expect(JSON.parse(stdout)).toEqual({
      items: [expect.objectContaining({ sessionId: 'one', messageId: 'm1', role: 'person', path, offset: 0 })],
    })
    expect(await memoryd(home, 'search', 'nothing-of-it')).toMatchObject({
      code: 0,
      stdout: 'no message in the sessions of this project says that\n',
    })
    expect(await memoryd(home, 'search', 'x', 'role:stranger')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('role:person'),
    })
  })

  it('takes credentials out of what it shows, and keeps none that was searched for', async () => {
    const home = makeHome()
    heard(home, `use ${SECRET} for now`, 'use [redacted:github-token] for now')
    const daemon = await startDaemon(home)
    const ask = (q: string) => daemon.client.search({ q, cwd: home.dir })
    expect((await ask('"for now"')).items.map(({ snippet }) => snippet)).toEqual([
      'use [redacted:github-token] for now',
    ])
    expect(await ask(`"${SECRET}"`)).toEqual({ items: [] })
    expect(await ask(SECRET)).toEqual({ items: [] })
    await expect(ask(`x since:${SECRET}`)).rejects.toMatchObject({
      code: 'BAD_REQUEST',
      message: expect.not.stringContaining(SECRET),
    })
    await daemon.stop()
    const files = readdirSync(home.places.stateDir, { recursive: true, withFileTypes: true }).filter((f) => f.isFile())
    expect(files.length).toBeGreaterThan(2)
    for (const { parentPath, name } of files) {
      const bytes = readFileSync(join(parentPath, name)).toString('latin1').toLowerCase()
      expect(bytes.includes(SECRET.slice(4).toLowerCase()), name).toBe(false)
    }
  })

  it('finds nothing where memory has just been switched off, however often it was asked before', async () => {
    const home = makeHome()
    heard(home, 'the token refresh fails', 'the token refresh fails')
    const { client } = await startDaemon(home)
    const ask = () => client.search({ q: 'token', cwd: home.dir })
    const askOften = async () => {
      for (let n = 0; n < 4; n++) expect((await ask()).items.map(({ messageId }) => messageId)).toEqual(['m1'])
    }
    await askOften()
    await client.pause({ cwd: home.dir })
    expect(await ask()).toEqual({ items: [], skipped: 'off' })
    await client.resume({ cwd: home.dir })
    await askOften()
    mkdirSync(join(home.dir, '.claude'), { recursive: true })
    writeFileSync(join(home.dir, '.claude/settings.json'), '{"autoMemoryEnabled":false}')
    expect(await ask()).toEqual({ items: [], skipped: 'off' })
  })
})
