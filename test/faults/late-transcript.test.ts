import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import { type FaultRule, faultsIn } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { append, genericRoot, turn } from '../support/transcripts.ts'

const SWEEP_SECONDS = 2
/** One sweep, and what a busy machine adds; only each tenth sweep looks at everything. */
const WITHIN = { timeout: 4 * SWEEP_SECONDS * 1_000, interval: 50 }
/** Older than what a coarse file system could hide: only then a look at it is remembered. */
const SETTLED_MS = 2_500

const troubles: readonly [string, FaultRule][] = [
  ['opened: too many files are open', { calls: 'open-read', error: 'EMFILE' }],
  ['opened: permission is denied', { calls: 'open-read', error: 'EACCES' }],
  ['opened: the disk fails', { calls: 'open-read', error: 'EIO' }],
  ['read: the disk fails', { calls: 'read', error: 'EIO' }],
  ['looked at: permission is denied', { calls: 'stat', error: 'EACCES' }],
  ['looked at: the disk fails', { calls: 'stat', error: 'EIO' }],
]

function ground(context: TestContext) {
  const home = makeHome()
  const root = genericRoot(home, { sweepSeconds: SWEEP_SECONDS })
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const file = join(root, 's.jsonl')
  return {
    ...faultsIn(context, home),
    file,
    say: () => append(file, { type: 'session', id: 's', cwd }, ...turn('one')),
  }
}

describe('a transcript that once could not be', () => {
  it.for(troubles)('%s, is read within one sweep', async ([, rule], context) => {
    const { start, fail, file, say } = ground(context)
    const { client } = await start()
    await expect.poll(async () => (await client.status()).roots[0]?.state, WITHIN).toBe('watching')
    const fault = fail({ ...rule, ends: file })
    say()
    await expect.poll(fault.hits, WITHIN).toBe(1)
    await expect.poll(() => client.session({ id: 's' }).catch(({ code }) => code), WITHIN).toMatchObject({ turns: 1 })
  })

  it.for(troubles.slice(0, 2))('%s, as the daemon began, is read within one sweep', async ([, rule], context) => {
    const { start, fail, file, say } = ground(context)
    say()
    await expect.poll(() => Date.now() - statSync(file).ctimeMs, WITHIN).toBeGreaterThan(SETTLED_MS)
    const fault = fail({ ...rule, ends: file })
    const { client } = await start()
    await expect.poll(fault.hits, WITHIN).toBe(1)
    await expect.poll(() => client.session({ id: 's' }).catch(({ code }) => code), WITHIN).toMatchObject({ turns: 1 })
  })

  it('listed with its folder, is read within one sweep', async (context) => {
    const { start, fail, file, say } = ground(context)
    say()
    const fault = fail({ calls: 'list', ends: '/transcripts', error: 'EACCES' })
    const { client } = await start()
    await expect.poll(fault.hits, WITHIN).toBe(1)
    expect(statSync(file).isFile()).toBe(true)
    await expect.poll(() => client.session({ id: 's' }).catch(({ code }) => code), WITHIN).toMatchObject({ turns: 1 })
  })
})
