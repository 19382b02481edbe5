import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { createTrace, filesAtRest } from '../support/at-rest.ts'
import { startDaemon } from '../support/daemon.ts'
import { type Home, makeHome } from '../support/home.ts'
import { harnesses, spotNames, transcriptWith } from '../support/transcript-secrets.ts'
import { append, turn, turnEvents } from '../support/transcripts.ts'

const PRIVATE = 'nobodyshallreadthisword'

function rooted(home: Home, settings: object = {}): (harness: string) => string {
  const root = (harness: string) => join(home.dir, 'roots', harness)
  for (const harness of harnesses) mkdirSync(root(harness), { recursive: true })
  const roots = Object.fromEntries(harnesses.map((harness) => [harness, [root(harness)]]))
  writeFileSync(home.places.configFile, JSON.stringify({ roots, log: { level: 'debug' }, ...settings }))
  return root
}

/** Starts a daemon, lets it read everything, and kills it: what is left is what it keeps. */
async function readAll(home: Home, root: (harness: string) => string, cwd: string) {
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  append(join(root('generic'), 'last.jsonl'), { type: 'session', id: 'last', cwd }, ...turn('last'))
  while (!(await turns.take(1)).some(({ sessionId }) => sessionId === 'last')) {}
  while ((await daemon.client.status()).ingest.lagBytes > 0) await daemon.client.health()
  const answers = await Promise.all([
    daemon.client.search({ cwd, q: PRIVATE }),
    daemon.client.search({ cwd, q: `"${PRIVATE.slice(0, 8)}"` }),
  ])
  expect(answers).toEqual([{ items: [] }, { items: [] }])
  await daemon.kill9()
  const trace = createTrace([{ name: 'private', text: PRIVATE }])
  expect(filesAtRest(home.places.stateDir).flatMap((file) => (trace(file).length > 0 ? [file.path] : []))).toEqual([])
  const db = new Database(join(home.places.stateDir, 'index.db'))
  const read = (sql: string) => db.prepare(sql).pluck().all() as string[]
  const rows = {
    files: read('SELECT path FROM files').length,
    sessions: read('SELECT session FROM sessions ORDER BY session'),
    folders: read('SELECT DISTINCT cwd FROM sessions WHERE cwd IS NOT NULL'),
    known: read('SELECT known FROM files'),
    messages: read('SELECT id FROM messages').length,
  }
  db.close()
  return rows
}

it('keeps nothing of what stands between marks of privacy, in any harness', async () => {
  const home = makeHome()
  const root = rooted(home)
  const cwd = join(home.dir, 'work')
  mkdirSync(cwd)
  const text = `Before <private>${PRIVATE}</private> after, <private>and ${PRIVATE} to the end`
  const said = spotNames.filter((spot) =>
    ['question', 'answer', 'command', 'file name', 'result', 'title'].includes(spot),
  )
  let n = 0
  for (const harness of harnesses)
    for (const spot of said) {
      const { name, lines } = transcriptWith(harness, spot, { kind: 'private', text, secret: PRIVATE }, ++n, cwd)
      append(join(root(harness), name), ...lines)
    }
  const { files, messages } = await readAll(home, root, cwd)
  expect(files).toBe(harnesses.length * said.length + 1)
  expect(messages).toBeGreaterThan(3 * files)
})

it('keeps nothing of sessions in private folders but that they were read, in any harness', async () => {
  const home = makeHome()
  const secret = join(home.dir, 'secret')
  const cwd = join(home.dir, 'work')
  for (const dir of [secret, cwd]) mkdirSync(dir)
  const root = rooted(home, { private: [secret] })
  // Its lines do not say where Gemini CLI runs.
  mkdirSync(join(root('gemini'), 'demo'))
  writeFileSync(join(root('gemini'), 'demo', '.project_root'), join(secret, 'deep'))
  for (const [n, harness] of harnesses.entries()) {
    const sample = { kind: 'private', text: `It is ${PRIVATE}`, secret: PRIVATE }
    const { name, lines } = transcriptWith(harness, 'question', sample, n, join(secret, 'deep'))
    append(join(root(harness), name), ...lines)
  }
  const { files, sessions, folders, known, messages } = await readAll(home, root, cwd)
  expect({ files, sessions, folders, messages }).toEqual({
    files: harnesses.length + 1,
    sessions: ['last'],
    folders: [cwd],
    messages: 2,
  })
  expect(known.filter((told) => told.includes('secret'))).toEqual([])
  expect(known.map((told) => Object.keys(JSON.parse(told)).sort().join(' ')).sort()).toEqual(
    ['session', ...harnesses.map(() => 'hidden session')].sort(),
  )
})

it('keeps nothing of what stands between marks of privacy in results of tools, long ones or cleared ones', async () => {
  const home = makeHome()
  const { client, kill9 } = await startDaemon(home)
  const printed = (n: number) =>
    `${n} <private>${PRIVATE}</private> after, <Private>and\n${PRIVATE}</ private> and <private> as a word`
  const long = `${printed(0)}\n${'A line of what a tool has printed.\n'.repeat(2_000)}`
  const { results } = await client.keepToolResults({
    sessionId: 's',
    results: [{ toolUseId: 'long', tool: 'Bash', content: long }],
  })
  expect(results[0]?.content).toContain('0 [private] after, [private] and <private> as a word\nA line')
  const messages = Array.from({ length: 14 }, (_, n) => [
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name: 'Bash', input: {} }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: printed(n).padEnd(40_000, ' word') }],
    },
  ]).flat()
  const { cleared } = await client.microcompact({ sessionId: 's', model: 'm', messages })
  expect(cleared).toContain('t4')
  expect((await client.toolResult({ session: 's', id: 't4' })).content).toMatch(
    /^4 \[private\] after, \[private\] and <private> as a word word/,
  )
  await kill9()
  const trace = createTrace([{ name: 'private', text: PRIVATE }])
  expect(filesAtRest(home.places.stateDir).flatMap((file) => (trace(file).length > 0 ? [file.path] : []))).toEqual([])
})
