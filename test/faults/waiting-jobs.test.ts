import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { CALLS, type ErrorName, startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { topics } from '../support/learning.ts'
import { topic } from '../support/memory.ts'

const TRIED = { timeout: 20_000, interval: 20 }
/** A disk is tried each few seconds. */
const WOKEN = { timeout: 20_000, interval: 50 }
const LONG = { timeout: 60_000 }
const WRITES = CALLS.filter((call) => !['open-read', 'read', 'close', 'stat', 'list'].includes(call))
const errors: readonly ErrorName[] = ['ENOSPC', 'EIO', 'EDQUOT']

describe('while the disk of a memory directory alone takes nothing', () => {
  it.for(errors)('what was said waits, and is saved once the disk is well: %s', LONG, async (error, context) => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, fail } = await startWithFaults(context, home)
    const fault = fail({ calls: WRITES, within: '/memory', error, times: 'lasting', except: '/memoryd/' })
    session.say('Please always run check-one before you commit, because CI is strict.')
    const extract = async () => (await client.jobs({})).items.find(({ kind }) => kind === 'extract')
    await expect.poll(async () => (await extract())?.error, TRIED).toBeDefined()
    expect(await extract()).toMatchObject({ state: 'waiting' })
    fault.heal()
    await expect.poll(() => topics(session.memories), WOKEN).toHaveLength(1)
  })

  it.for(errors)('a dream waits, and is dreamt once the disk is well: %s', LONG, async (error, context) => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const { client, fail } = await startWithFaults(context, home)
    for (const n of [1, 2]) await client.putMemory({ cwd, file: `train_${n}.md`, content: topic('It leaves at noon.') })
    const fault = fail({
      calls: WRITES,
      within: '/memory/',
      ends: '.tmp',
      error,
      times: 'lasting',
      except: '/memoryd/',
    })
    const begun = await client.dream({ cwd, force: true })
    if (!begun.started) throw new Error(begun.why)
    const job = () => client.job({ id: begun.jobId })
    await expect.poll(async () => (await job()).error, TRIED).toBeDefined()
    expect(await job()).toMatchObject({ state: 'waiting' })
    fault.heal()
    await expect.poll(async () => (await job()).state, WOKEN).toBe('done')
    expect((await client.memories({ cwd })).items).toHaveLength(1)
  })
})
