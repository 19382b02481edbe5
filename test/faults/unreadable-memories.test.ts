import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type FaultRule, faultsIn, startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'

/** What each of the questions does anew: texts of memories are kept. */
const unreadable: readonly FaultRule[] = [
  { calls: ['list'], within: '/memory', error: 'EIO' },
  { calls: ['list'], within: '/memory', error: 'EACCES' },
  { calls: ['stat'], within: '/memory', error: 'EIO' },
]

it('memories that cannot be read are an error of each question, not an answer without them', async (context) => {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const { client, fail, heal } = await startWithFaults(context, home)
  await client.putMemory({ cwd, file: 'a.md', content: topic('Deploy on Mondays only.') })
  const questions = [
    () => client.memories({ cwd }),
    () => client.recall({ cwd, query: 'When may I deploy, on Mondays?' }),
  ]
  const files = async () => (await client.memories({ cwd })).items.map(({ file }) => file)
  for (const rule of unreadable)
    for (const ask of questions) {
      fail({ ...rule, times: 'lasting' })
      const answer = await ask().catch(({ code }) => code)
      expect.soft(['DEGRADED', 'REFUSED'], JSON.stringify(rule)).toContain(answer)
      heal()
      expect(await files()).toEqual(['a.md'])
    }
})

it.for(['list', 'stat', 'open-read'] as const)(
  'a memory directory that is closed at a start keeps no other project waiting: %s',
  async (call, context) => {
    const home = makeHome()
    const [closed = '', other = ''] = ['closed', 'other'].map((name) => join(home.dir, name))
    for (const cwd of [closed, other]) mkdirSync(cwd)
    const before = await startDaemon(home)
    for (const cwd of [closed, other])
      await before.client.putMemory({ cwd, file: 'a.md', content: topic('Deploy on Mondays only.') })
    await before.stop()
    const faults = faultsIn(context, home)
    faults.fail({ calls: call, within: '-closed/memory', error: 'EACCES', times: 'lasting' })
    const { client } = await faults.start()
    expect((await client.memories({ cwd: other })).items.map(({ file }) => file)).toEqual(['a.md'])
    // What was begun at the start has failed by now.
    await client.recall({ cwd: closed, query: 'When may I deploy, on Mondays?' }).catch(() => {})
    expect(await client.health()).toMatchObject({ ok: true })
  },
)
