import { expect, it } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { following, learningHome } from '../support/learning.ts'
import { says } from '../support/messages-api/answers.ts'

it('asks about twenty sessions that end at once, two at a time and never two of one project', async () => {
  const atWork = new Map<string, number>()
  const seen = { most: 0, ofOne: 0 }
  let secondCame = () => {}
  const second = new Promise<void>((resolve) => {
    secondCame = resolve
  })
  const { home } = await learningHome({
    script: async ({ body }) => {
      const project = /project-\d/.exec(JSON.stringify(body.messages))?.[0] ?? ''
      atWork.set(project, (atWork.get(project) ?? 0) + 1)
      seen.most = Math.max(
        seen.most,
        [...atWork.values()].reduce((sum, count) => sum + count, 0),
      )
      seen.ofOne = Math.max(seen.ofOne, atWork.get(project) ?? 0)
      // The first is not answered before there are two; and then long enough for a third to come, if one may.
      if (seen.most === 2) secondCame()
      await second
      for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve))
      atWork.set(project, (atWork.get(project) ?? 0) - 1)
      return says('Nothing to save.')
    },
  })
  const sessions = Array.from({ length: 20 }, (_, n) => claudeSession(home, `session-${n}`, `project-${n % 4}`))
  const { client, ends } = await following(home)
  for (const session of sessions) session.say(`What is in ${session.cwd}?`)
  const done = new Set<string>()
  while (done.size < 20) done.add((await ends.next()).key)
  expect(seen).toEqual({ most: 2, ofOne: 1 })
  const { items } = await client.jobs()
  expect(items.filter(({ kind, state }) => kind === 'extract' && state !== 'done')).toEqual([])
})
