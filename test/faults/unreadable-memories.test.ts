import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type FaultRule, startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
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
