import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fingerprintOf } from '../../daemon/models/models.ts'
import { connectAs } from '../support/connect-as.ts'
import { following, learningHome, textOf, topics, written } from '../support/learning.ts'
import { calls, says } from '../support/messages-api/answers.ts'

type Following = Awaited<ReturnType<typeof following>>
const RULE = 'Please always run the linter before you commit, because CI rejects everything else.'
const BODY = 'Always run the linter before you commit.\n\n**Why:** CI rejects everything else.'
const save = (evidence: string) => calls(written('feedback_linter.md', 'feedback', BODY, [evidence]))
const tooLong = { status: 400, type: 'invalid_request_error', message: 'prompt is too long' }
const extractJob = async (client: Following['client']) =>
  (await client.jobs()).items.find(({ kind }) => kind === 'extract')
const turn = () => new Promise((resolve) => setImmediate(resolve))

it('a turn of any length is told from its beginning, and what it begins with is kept', async () => {
  const { api, home, session } = await learningHome({
    script: ({ body }) => (JSON.stringify(body).includes('because CI rejects') ? save('m1') : says('Nothing to save.')),
  })
  const { ends } = await following(home)
  const work = Array.from({ length: 150 }, (_, n) =>
    session.call('Bash', { command: `cat file${n}` }, `content ${n} `.repeat(250)),
  )
  session.write(session.person(`${RULE} Now fix all the failing files.`), ...work.flat(), session.answer('All fixed.'))
  expect((await ends.next()).result).toMatchObject({ saved: 1 })
  expect(topics(session.memories)).toEqual(['feedback_linter.md'])
  // Nothing was said in the rest of it.
  expect(api.requests).toHaveLength(1)
  const more = 'Please never squash commits, because we bisect a lot.'
  api.script(() => says('Nothing to save.'))
  session.say(more)
  await ends.next()
  expect(String(api.requests[1]?.bytes)).toContain(more)
}, 60_000)

it.each([
  ['a server does not take', tooLong],
  ['the model refuses', { content: [{ type: 'text' as const, text: 'No.' }], stop: 'refusal' as const }],
])(
  'a part that %s is looked through by rules, and holds nothing up',
  async (_what, refusal) => {
    const { api, home, session } = await learningHome({ script: () => refusal })
    const { ends } = await following(home)
    session.say(RULE)
    expect(await ends.next()).toMatchObject({ state: 'done', result: { saved: 1, byRules: 1 } })
    expect(topics(session.memories)).toHaveLength(1)
    expect(api.requests).toHaveLength(1)
  },
  60_000,
)

it('of several turns only the one that no model takes is done by rules', async () => {
  const { api, home, session } = await learningHome({
    settings: { extraction: { everyTurns: 2 } },
    script: ({ body }) => {
      const all = JSON.stringify(body.messages)
      const [, first = ''] = /New are 2 messages, from (m\d+) to/.exec(all) ?? []
      if (first === '' || !all.includes('never squash')) return tooLong
      return calls(written('feedback_squash.md', 'feedback', 'Never squash commits.', [first]))
    },
  })
  const { ends } = await following(home)
  session.write(
    session.person(RULE),
    session.answer('Done.'),
    session.person('Please never squash commits.'),
    session.answer('Ok.'),
  )
  let { result } = await ends.next()
  while (JSON.stringify(result).includes('too few')) result = (await ends.next()).result
  expect(result).toMatchObject({ saved: 2, byRules: 1 })
  expect(api.requests).toHaveLength(3)
}, 60_000)

it('a part that yields nothing but answers cut off is done by rules the third time', async () => {
  const { api, home, session } = await learningHome({ script: () => says('And so on', { stop: 'max_tokens' }) })
  const { client, ends } = await following(home)
  const user = connectAs(home, 'user')
  session.say(RULE)
  for (let attempt = 1; attempt < 3; attempt++) {
    await api.request(attempt)
    let job = await extractJob(client)
    while (job?.state !== 'queued' || job.error === undefined) job = await extractJob(client)
    expect(topics(session.memories)).toEqual([])
    await user.retryJob({ id: job.id })
  }
  expect((await ends.next()).result).toMatchObject({ saved: 1, byRules: 1 })
}, 60_000)

it('a key that is not taken is no reason to pass anything by', async () => {
  const { api, home, session } = await learningHome({
    script: () => ({ status: 401, type: 'authentication_error', message: 'invalid x-api-key' }),
  })
  const { client, ends } = await following(home)
  session.say(RULE)
  expect((await ends.next()).state).toBe('failed')
  expect(topics(session.memories)).toEqual([])
  api.script(() => save('m1'))
  await connectAs(home, 'user').retryJob({ id: (await extractJob(client))?.id ?? '' })
  while (topics(session.memories).length === 0) await turn()
}, 60_000)

it('nothing is written once extraction was switched off, whatever the model was asked before', async () => {
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const { api, home, session } = await learningHome({
    script: async () => {
      await held
      return save('m1')
    },
  })
  const { client } = await following(home)
  const user = connectAs(home, 'user')
  session.say(RULE)
  await api.request(1)
  await user.pause({})
  goOn()
  let job = await extractJob(client)
  while (!job?.error) job = await extractJob(client)
  expect(topics(session.memories)).toEqual([])
}, 60_000)

it('a memory directory that is not there for a while is not the end of what was said', async () => {
  const { home, session } = await learningHome({
    script: ({ body }) => (body.messages.length > 1 ? says('I could not save it.') : save('m1')),
  })
  mkdirSync(join(session.memories, '..'), { recursive: true })
  symlinkSync(join(home.dir, 'unmounted'), session.memories)
  const { client } = await following(home)
  session.say(RULE)
  let job = await extractJob(client)
  while (!job?.error) job = await extractJob(client)
  expect(job.state).not.toBe('done')
  mkdirSync(join(home.dir, 'unmounted'))
  await connectAs(home, 'user').retryJob({ id: job.id })
  while (topics(session.memories).length === 0) await turn()
}, 60_000)

it('days of messages without a time are those of the message before, or of today', async () => {
  const { api, home, session } = await learningHome()
  const { client, ends } = await following(home)
  const { timestamp: _, ...said } = session.person('The release freeze starts tomorrow because of the audit.') as {
    timestamp: string
  }
  const { timestamp: __, ...answered } = session.answer('Noted.') as { timestamp: string }
  api.next(
    calls(
      written('project_freeze.md', 'project', 'The release freeze starts tomorrow.\n\n**Why:** the audit.', ['m1']),
    ),
  )
  session.write(said, answered)
  await ends.next()
  const year = new Date(Date.now() + 86_400_000).getFullYear()
  expect(textOf(session.memories, 'project_freeze.md')).toContain(`freeze starts ${year}-`)
  const [change] = (await client.changes({ cwd: session.cwd })).items
  expect(new Date(change?.evidence[0]?.at ?? 0).getTime()).toBeGreaterThan(Date.now() - 3_600_000)
}, 60_000)

it('what waits for the person is neither written over nor forgotten by the next run', async () => {
  const { api, home, session } = await learningHome({ settings: { review: 'required' } })
  const { client, ends } = await following(home)
  api.next(save('m1'))
  session.say(RULE)
  await ends.next()
  api.next(save('m3'), says('Enough.'))
  session.say(RULE)
  expect((await ends.next()).result).toEqual({ skipped: 'nothing to save' })
  expect(String(api.requests[1]?.bytes)).toContain('feedback_linter.md: waits for review')
  expect((await client.reviews()).items).toHaveLength(1)
}, 60_000)

it('goes on by itself where a server does not take what a harness handed over', async () => {
  const { api, home, session } = await learningHome({
    settings: { extraction: { prefix: 'harness' } },
    script: ({ body }) => ('betas' in body ? tooLong : save('m1')),
  })
  const { client, ends } = await following(home)
  const messages = [
    { role: 'user' as const, content: RULE },
    { role: 'assistant' as const, content: 'Will do.' },
  ]
  const params = { model: 'claude-sonnet-5-5', messages, betas: ['x'] }
  const prefix = { params, endpoint: api.url, fingerprint: fingerprintOf('test-key') }
  await client.pushTurn({ cwd: session.cwd, harness: 'mine', sessionId: 's', turnId: 'one', messages, prefix })
  expect((await ends.next()).result).toMatchObject({ saved: 1 })
  expect(api.requests).toHaveLength(2)
}, 60_000)
