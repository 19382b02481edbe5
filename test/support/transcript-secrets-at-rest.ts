/** Credentials stand in transcripts, wherever they may: what of them is on disk afterwards. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { tokensOf } from '../../daemon/transcripts/message-index.ts'
import { createTrace, filesAtRest } from './at-rest.ts'
import { startDaemon } from './daemon.ts'
import { makeHome } from './home.ts'
import { secretSamples } from './secret-samples.ts'
import { seeded } from './seed.ts'
import { fits, harnesses, spotNames, transcriptWith } from './transcript-secrets.ts'
import { append, turn, turnEvents } from './transcripts.ts'

export async function keepNoneOfTranscripts(count: number): Promise<void> {
  const home = makeHome()
  const cwd = join(home.dir, 'work')
  const root = (harness: string) => join(home.dir, 'roots', harness)
  for (const dir of [cwd, ...harnesses.map(root)]) mkdirSync(dir, { recursive: true })
  const roots = Object.fromEntries(harnesses.map((harness) => [harness, [root(harness)]]))
  writeFileSync(home.places.configFile, JSON.stringify({ roots, log: { level: 'debug' } }))
  const samples = secretSamples(seeded('secrets in transcripts'), count)
  const secrets = samples.map((sample, n) => {
    const harness = harnesses[n % harnesses.length] as string
    const possible = spotNames.filter((spot) => fits(spot, sample))
    const spot = possible[Math.floor(n / harnesses.length) % possible.length] as (typeof spotNames)[number]
    const { name, lines } = transcriptWith(harness, spot, sample, n, cwd)
    append(join(root(harness), name), ...lines)
    // The lines around a key are no secret, and one is left where the key itself was cut off.
    return {
      name: `${spot} of ${harness}, ${sample.kind}`,
      text: sample.secret.replace(/-----(?:BEGIN|END) [A-Z ]+-----/g, ''),
    }
  })
  // A folder may be called like one, too; and a harness may push them.
  const pathSecrets = samples.filter((sample) => fits('cwd', sample)).slice(0, 20)
  for (const { secret } of pathSecrets) append(join(root('generic'), `key ${secret}`, 's.jsonl'), ...turn('hidden'))

  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  for (const [n, { text }] of samples.entries())
    if (n % 5 === 0)
      await daemon.client.pushTurn({
        cwd,
        sessionId: `p${n}`,
        turnId: 't',
        messages: [{ role: 'user', content: text }],
      })
  const lag = async () => (await daemon.client.status()).ingest.lagBytes
  append(join(root('generic'), 'last.jsonl'), { type: 'session', id: 'last', cwd }, ...turn('staging marker'))
  while (!(await turns.take(1)).some(({ sessionId }) => sessionId === 'last')) {}
  while ((await lag()) > 0) await daemon.client.health()

  const both = secrets.flatMap(({ name, text }) => [
    { name, text },
    { name: `${name}, in small letters`, text: text.toLowerCase() },
  ])
  const trace = createTrace(both)
  const leaks = () =>
    filesAtRest(home.places.stateDir).flatMap((file) =>
      trace(file).map(({ name, piece }) => `${basename(file.path)}: ${name}: ${piece}`),
    )
  expect(leaks()).toEqual([])
  const answers = []
  for (const q of ['staging', 'number', 'rotated', 'upstream', 'password', 'key', 'token', 'marker'])
    answers.push(await daemon.client.search({ cwd, q, limit: '500' }))
  for (const sample of samples.slice(0, 100))
    answers.push(
      await daemon.client.search({ cwd, q: `"${sample.secret.replaceAll('"', '""').slice(0, 500)}"`, limit: '5' }),
    )
  answers.push(await daemon.client.sessions({ cwd, limit: '999' }))
  expect(answers[0]?.items.length).toBeGreaterThan(50)
  const bytes = Buffer.from(answers.map((answer) => JSON.stringify(answer)).join('\n'))
  expect(trace({ path: 'answers', bytes })).toEqual([])
  await daemon.kill9()
  expect(leaks()).toEqual([])

  // Words are kept apart from each other: what is left of a credential would be one of them.
  const db = new Database(join(home.places.stateDir, 'index.db'))
  const terms = new Set(
    (db.prepare('SELECT terms FROM term_blocks').pluck().all() as string[]).flatMap((block) => block.split('\n')),
  )
  const counted = db.prepare('SELECT count(*) FROM sessions').pluck().get()
  db.close()
  const told = samples.flatMap(({ kind, secret }) =>
    tokensOf(secret)
      .filter((token) => token.length >= 12 && terms.has(token))
      .map((token) => `${kind}: ${token}`),
  )
  expect(told).toEqual([])
  expect(counted).toBeGreaterThan(count)
  // The same search finds what is there.
  const marker = createTrace([{ name: 'marker', text: dirname(root('codex')) }])
  expect(filesAtRest(home.places.stateDir).filter((file) => marker(file).length > 0).length).toBeGreaterThan(0)
}
