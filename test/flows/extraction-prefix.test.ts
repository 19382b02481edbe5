import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fingerprintOf } from '../../daemon/models/models.ts'

import { following, learningHome, topics } from '../support/learning.ts'
import { calls } from '../support/messages-api/answers.ts'
import { traces } from '../support/traces.ts'

const MARK = 'zebra-quartz-harness-only'
const RULE = 'Please always run the linter before you commit, because CI rejects everything else.'
const tools = ['Read', 'Write', 'Task'].map((name) => ({
  name,
  description: `${name} of the harness`,
  input_schema: { type: 'object', properties: {} },
}))
const conversation = [
  { role: 'user', content: [{ type: 'text', text: RULE }] },
  { role: 'assistant', content: [{ type: 'text', text: 'Will do.' }] },
]
const params = {
  model: 'claude-sonnet-5-5',
  max_tokens: 9_999,
  system: [{ type: 'text', text: `You are a harness. ${MARK}` }],
  tools,
  messages: conversation,
}
const memory = `---\nname: Linter\ndescription: Run the linter before every commit\ntype: feedback\nevidence: m1\n---\n\nAlways run the linter before you commit.\n`

async function pushing(settings: object) {
  const { api, home, session } = await learningHome({ settings })
  const { client, ends } = await following(home)
  const { cwd } = session
  const turn = { cwd, harness: 'mine', sessionId: 's', turnId: 'one', messages: conversation }
  return { api, home, client, ends, turn, dir: session.memories }
}

it('goes on from a harness’s own request that was handed over with the turn, and keeps it nowhere', async () => {
  const { api, home, client, ends, turn, dir } = await pushing({ extraction: { prefix: 'harness' } })
  api.next(calls({ id: 'w', name: 'Write', input: { file_path: 'feedback_linter.md', content: memory } }))
  const prefix = { params, endpoint: api.url, fingerprint: fingerprintOf('test-key') }
  expect(await client.pushTurn({ ...turn, prefix })).toEqual({
    jobIds: [expect.stringMatching(/^extract-/), expect.stringMatching(/^notes-/)],
  })
  expect((await ends.next()).result).toMatchObject({ saved: 1 })
  const { body } = api.requests[0] ?? {}
  expect(body).toMatchObject({ model: 'claude-sonnet-5-5', system: params.system, tools })
  expect(body?.messages.slice(0, 2)).toEqual(conversation)
  const task = JSON.stringify(body?.messages.at(-1))
  expect(task).toContain('New are the last 2 messages of the conversation')
  expect(task).toContain('m1, by person')
  expect(topics(dir)).toEqual(['feedback_linter.md'])
  expect(readFileSync(join(dir, 'feedback_linter.md'), 'utf8')).toBe(memory.replace('evidence: m1\n', ''))
  expect(traces(home.dir, [MARK])).toEqual([])
})

it.each([
  ['the settings do not want it', { prefix: 'rendered' }, {}, 'extraction.prefix is not harness'],
  [
    'it ends with a tool that was not answered',
    { prefix: 'harness' },
    {
      messages: [
        conversation[0],
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Read', input: {} }] },
      ],
    },
    'a tool call in it has no result yet',
  ],
])('tells the session itself, and says so, where %s', async (_why, extraction, other, skipped) => {
  const { api, client, ends, turn } = await pushing({ extraction })
  api.next({ content: [{ type: 'text', text: 'Nothing to save.' }] })
  const prefix = {
    params: { ...params, ...other } as typeof params,
    endpoint: api.url,
    fingerprint: fingerprintOf('test-key'),
  }
  expect(await client.pushTurn({ ...turn, prefix })).toMatchObject({ prefixSkipped: skipped })
  await ends.next()
  expect(JSON.stringify(api.requests[0]?.body)).not.toContain(MARK)
})

it('tells the session itself where the harness asks with another key', async () => {
  const { api, client, ends, turn } = await pushing({ extraction: { prefix: 'harness' } })
  api.next({ content: [{ type: 'text', text: 'Nothing to save.' }] })
  await client.pushTurn({ ...turn, prefix: { params, endpoint: api.url, fingerprint: fingerprintOf('other-key') } })
  await ends.next()
  expect(JSON.stringify(api.requests[0]?.body)).not.toContain(MARK)
})
