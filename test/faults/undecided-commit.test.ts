import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, type TestContext } from 'vitest'
import { startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

/** The disk takes what is committed and does not confirm it; then the daemon is killed, and started again. */
async function unconfirmed(context: TestContext) {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const { client, fail, kill9, start } = await startWithFaults(context, home)
  await client.putMemory({ cwd, file: 'a.md', content: topic('One.') })
  await client.registerAgent({ name: 'ant', sessionId: 's', harness: 'generic', cwd, pid: process.pid })
  fail({ calls: 'sync', ends: '/history.db-wal', error: 'EIO', times: 'lasting' })
  const killed = async () => {
    await kill9()
    return (await start()).client
  }
  return { client, cwd, killed }
}

const undecided = { code: 'DEGRADED', message: expect.stringContaining('may still happen') }

it('a change that the disk does not confirm is answered as one that may still happen', async (context) => {
  const { client, cwd, killed } = await unconfirmed(context)
  await expect(client.putMemory({ cwd, file: 'b.md', content: topic('Two.') })).rejects.toMatchObject(undecided)
  const { items } = await (await killed()).memories({ cwd })
  expect(items.map(({ file }) => file).sort()).toEqual(['a.md', 'b.md'])
})

it('so is a letter', async (context) => {
  const { client, killed } = await unconfirmed(context)
  await expect(client.sendMail({ from: 'bee', to: 'ant', body: 'Hello.' })).rejects.toMatchObject(undecided)
  expect((await (await killed()).mail({ agent: 'ant' })).items).toMatchObject([{ body: 'Hello.' }])
})
