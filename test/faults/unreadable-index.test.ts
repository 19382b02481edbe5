import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import { type FaultRule, startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { append, genericRoot, turn } from '../support/transcripts.ts'

const PATIENCE = { timeout: 20_000, interval: 20 }
/** Of transcripts that grow while the disk fails. */
const ROUNDS = 3
const LONG = { timeout: 60_000 }

/** A daemon that looks at its transcripts each second, with enough of them that the index is many pages. */
async function ground(context: TestContext) {
  const home = makeHome()
  const root = genericRoot(home, { sweepSeconds: 1 })
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const say = (session: string, ...names: string[]) =>
    append(join(root, `${session}.jsonl`), { type: 'session', id: session, cwd }, ...names.flatMap(turn))
  for (let n = 0; n < 40; n++) say(`s${n}`, ...Array.from({ length: 20 }, (_, at) => `word-${n}-${at}`))
  const daemon = await startWithFaults(context, home)
  const lag = async () => (await daemon.client.status()).ingest.lagBytes
  await expect.poll(async () => (await daemon.client.sessions({ cwd, limit: '999' })).items.length, PATIENCE).toBe(40)
  await expect.poll(lag, PATIENCE).toBe(0)
  return { ...daemon, cwd, say }
}

const troubles: readonly [string, FaultRule][] = [
  ['is read on the main thread', { calls: 'read', thread: 'main', error: 'EIO' }],
  ['is read by any thread', { calls: 'read', error: 'EIO' }],
  ['is written', { calls: 'write', error: 'EIO' }],
  ['is full', { calls: ['write', 'truncate'], error: 'ENOSPC' }],
  ['is looked at', { calls: 'stat', error: 'EIO' }],
]

describe('a disk that fails while index.db', () => {
  it.for(troubles)('%s does not end the daemon, and nothing is missing afterwards', LONG, async ([, rule], context) => {
    const { client, fail, say, exited, cwd } = await ground(context)
    let ended = false
    void exited.then(() => {
      ended = true
    })
    const fault = fail({ ...rule, within: '/index.db', times: 'lasting' })
    // Growing transcripts, and one that is new: watches, sweeps and jobs go on meanwhile.
    for (let n = 0; n < ROUNDS && !ended; n++) {
      say('s1', `more-${n}`)
      say(`new-${n}`, `new-${n}`)
      const before = fault.hits()
      await expect.poll(() => ended || fault.hits() > before, PATIENCE).toBe(true)
    }
    fault.heal()
    expect(ended ? await exited : 'running').toBe('running')
    const found = async () => (await client.search({ cwd, q: 'new', limit: '999' })).items.map((item) => item.sessionId)
    await expect
      .poll(async () => new Set(await found()), PATIENCE)
      .toEqual(new Set(Array.from({ length: ROUNDS }, (_, n) => `new-${n}`)))
    expect(await client.session({ id: 's1' })).toMatchObject({ turns: 20 + ROUNDS })
  })
})
