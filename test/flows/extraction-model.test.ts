import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connectAs } from '../support/connect-as.ts'
import { following, followingProcess, learningHome, textOf, topics, written } from '../support/learning.ts'
import { broken, calls, says } from '../support/messages-api/answers.ts'

const RULE = 'Please always run the linter before you commit, because CI rejects everything else.'
const BODY =
  'Always run the linter before you commit.\n\n**Why:** CI rejects everything else.\n\n**How to apply:** before every commit.'
const saveRule = calls(written('feedback_linter.md', 'feedback', BODY, ['m1']))

/** What the model was told of the session, without what it was told to do. */
const toldIn = (bytes: Buffer | undefined) => {
  const { messages } = JSON.parse(String(bytes)) as { messages: { content: { text?: string }[] }[] }
  return (messages[0]?.content ?? []).flatMap(({ text = '' }) => (text.startsWith('<message') ? [text] : []))
}
const taskIn = (bytes: Buffer | undefined) => {
  const { messages } = JSON.parse(String(bytes)) as { messages: { content: { text?: string }[] }[] }
  return messages[0]?.content.at(-1)?.text ?? ''
}

describe('what a model finds worth keeping in a turn', () => {
  it('is a memory once the turn has ended, with its line, what it rests on, the news of it and its price', async () => {
    const { api, home, session } = await learningHome()
    const { client, ends } = await following(home)
    api.next(saveRule)
    session.say(RULE)
    const { result, runId } = await ends.next()
    expect(result).toEqual({ saved: 1, waiting: 0, known: 0, refused: 0 })
    expect(api.requests).toHaveLength(1)
    expect(textOf(session.memories, 'feedback_linter.md')).toContain('**Why:** CI rejects')
    expect(textOf(session.memories, 'MEMORY.md')).toBe(
      '- [Always run the linter before you commit.](feedback_linter.md) — Always run the linter before you commit.\n',
    )
    const { items } = await client.changes({ cwd: session.cwd })
    expect(items).toMatchObject([
      {
        file: 'feedback_linter.md',
        op: 'create',
        actor: `agent:${runId}`,
        runId,
        evidence: [{ sessionId: session.id, messageIds: [`${session.id}-1`], excerpt: RULE, at: expect.any(String) }],
      },
    ])
    const news = { kind: 'saved', files: ['feedback_linter.md'], text: 'saved: feedback_linter.md' }
    expect(await client.notices({ id: session.id })).toMatchObject({ items: [news] })
    expect((await client.cost({ by: 'job' })).items).toMatchObject([{ key: 'extraction', calls: 1 }])
  })

  it('is nothing, most of the time, and is not looked for again', async () => {
    const { api, home, session } = await learningHome()
    const { client, ends } = await following(home)
    api.next(says('Nothing to save.'), says('Nothing to save.'))
    session.say('Can you fix the failing test?', 'Fixed.')
    expect((await ends.next()).result).toEqual({ skipped: 'nothing to save' })
    expect(await client.notices({ id: session.id })).toEqual({ items: [] })
    session.say('And the other one?', 'Fixed too.')
    await ends.next()
    expect(taskIn(api.requests[1]?.bytes)).toContain('New are 2 messages, from m3 to m4.')
    expect(topics(session.memories)).toEqual([])
    // What was told before is told again, byte for byte, and what is new comes after it.
    expect(toldIn(api.requests[1]?.bytes).slice(0, 2)).toEqual(toldIn(api.requests[0]?.bytes))
  })

  it('is looked for once more after a burst of turns, and not for each of them', async () => {
    let goOn = () => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const { api, home, session } = await learningHome({
      script: async () => {
        if (api.requests.length === 1) await held
        return says('Nothing to save.')
      },
    })
    const { client, ends } = await following(home)
    session.say('One?')
    await api.request(1)
    for (let n = 0; n < 5; n++) session.say(`Question ${n}?`)
    const seen = async () => (await client.session({ id: session.id })).turns
    while ((await seen()) < 6) await new Promise((resolve) => setImmediate(resolve))
    goOn()
    await ends.next()
    await ends.next()
    expect(api.requests).toHaveLength(2)
    expect(taskIn(api.requests[1]?.bytes)).toContain('New are 10 messages, from m3 to m12.')
    expect((await client.jobs()).items.filter(({ kind, state }) => kind === 'extract' && state !== 'done')).toEqual([])
  })

  it('is looked for in the same messages again after a failure', async () => {
    const { api, home, session } = await learningHome()
    const { client } = await following(home)
    api.next(broken)
    session.say(RULE)
    await api.request(1)
    const failed = async () => (await client.jobs()).items.find(({ kind }) => kind === 'extract')
    let job = await failed()
    while (job?.error === undefined) job = await failed()
    expect(topics(session.memories)).toEqual([])
    expect(await client.notices({ id: session.id })).toEqual({ items: [] })
    api.next(saveRule)
    await connectAs(home, 'user').retryJob({ id: job.id })
    while (topics(session.memories).length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(toldIn(api.requests[1]?.bytes)).toEqual(toldIn(api.requests[0]?.bytes))
  })

  it('is there as a whole or not at all when the daemon is killed in the middle of it', async () => {
    const { api, home, session } = await learningHome()
    const first = await followingProcess(home)
    const two = calls(written('feedback_linter.md', 'feedback', BODY, ['m1']), {
      ...written('bad.md', 'nonsense', 'x', ['m1']),
      id: 'bad',
    })
    api.next(two, { fault: 'silent' })
    session.say(RULE)
    await api.request(2)
    await first.kill9()
    expect(topics(session.memories)).toEqual([])
    api.next(saveRule)
    const { ends, client } = await following(home)
    expect((await ends.next()).result).toMatchObject({ saved: 1 })
    expect(topics(session.memories)).toEqual(['feedback_linter.md'])
    expect((await client.notices({ id: session.id })).items).toHaveLength(1)
    expect((await client.changes({ cwd: session.cwd })).items.filter(({ op }) => op !== 'refused')).toHaveLength(1)
  })

  it('is what was accepted, and marked as cut off, when the model does not come to an end', async () => {
    const { api, home, session } = await learningHome({
      script: ({ body }) =>
        body.messages.length === 1
          ? calls(
              written('feedback_linter.md', 'feedback', BODY, ['m1']),
              { id: 'x', name: 'Glob', input: { pattern: '*' } },
              { id: 'y', name: 'Nope', input: {} },
            )
          : calls({ id: `g-${body.messages.length}`, name: 'Nope', input: {} }),
    })
    const { ends } = await following(home)
    session.say(RULE)
    expect(await ends.next()).toMatchObject({ result: { saved: 1 }, truncated: true })
    expect(api.requests).toHaveLength(5)
    expect(topics(session.memories)).toEqual(['feedback_linter.md'])
  })

  it('has the days it names made absolute', async () => {
    const { api, home, session } = await learningHome()
    const { ends } = await following(home)
    const body =
      'The release freeze starts tomorrow, and the outage of yesterday is why.\n\n**Why:** outage\n\n**How to apply:** freeze'
    api.next(
      calls(written('project_freeze.md', 'project', body, ['m1'], { description: 'Release freeze from tomorrow' })),
    )
    session.say('The release freeze starts tomorrow because of the outage yesterday.')
    await ends.next()
    const day = (days: number) => {
      const at = new Date(Date.now() + days * 86_400_000)
      return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, '0')}-${String(at.getDate()).padStart(2, '0')}`
    }
    const text = textOf(session.memories, 'project_freeze.md')
    expect(text).toContain(`freeze starts ${day(1)}, and the outage of ${day(-1)} is why`)
    expect(text).toContain(`description: Release freeze from ${day(1)}`)
    expect(text).not.toMatch(/tomorrow|yesterday/)
  })

  it('changes a memory that is there rather than adding one beside it', async () => {
    const { api, home, session } = await learningHome()
    const { client, ends } = await following(home)
    api.next(saveRule)
    session.say(RULE)
    await ends.next()
    const at = { file_path: 'feedback_linter.md' }
    api.next(
      calls({ id: 'r', name: 'Read', input: at }),
      calls({
        id: 'e',
        name: 'Edit',
        input: {
          ...at,
          old_string: 'before every commit.',
          new_string: 'before every commit and every push.',
          evidence: ['m3'],
        },
      }),
    )
    session.say('Also run the linter before every push.')
    await ends.next()
    expect(taskIn(api.requests[1]?.bytes)).toMatch(/- \[feedback\] feedback_linter\.md \(.*\): Always run/)
    expect(topics(session.memories)).toEqual(['feedback_linter.md'])
    expect(textOf(session.memories, 'feedback_linter.md')).toContain('before every commit and every push.')
    const { runId } = (await client.changes({ cwd: session.cwd })).items[0] ?? {}
    await connectAs(home, 'user').undoRun({ id: runId ?? '' })
    expect(textOf(session.memories, 'feedback_linter.md')).not.toContain('every push')
  })

  it('waits for a person where review is required', async () => {
    const { api, home, session } = await learningHome({ settings: { review: 'required' } })
    const { client, ends } = await following(home)
    api.next(saveRule)
    session.say(RULE)
    expect((await ends.next()).result).toEqual({ saved: 0, waiting: 1, known: 0, refused: 0 })
    expect(topics(session.memories)).toEqual([])
    expect((await client.reviews()).items).toMatchObject([{ file: 'feedback_linter.md', op: 'create' }])
  })

  it('is not asked for where the agent wrote memories itself', async () => {
    const { api, home, session } = await learningHome()
    const { ends } = await following(home)
    const path = join(session.memories, 'feedback_linter.md')
    session.write(
      session.person(RULE),
      ...session.call('Write', { file_path: path, content: 'x' }),
      session.answer('Done.'),
    )
    expect((await ends.next()).result).toEqual({ skipped: 'the agent wrote memories itself' })
    expect(api.requests).toHaveLength(0)
  })

  it('goes into the log of the day where logs are kept, and nothing that is there is changed', async () => {
    const { api, home, session } = await learningHome({ settings: { dailyLog: { enabled: true } } })
    const { ends } = await following(home)
    const now = new Date()
    const day = `${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, '0')}-${String(now.getDate()).padStart(2, '0')}`
    const file = `logs/${day.slice(0, 4)}/${day.slice(5, 7)}/${day}.md`
    const line = '- [feedback] Always run the linter before you commit, because CI rejects everything else.'
    const log = (content: string, evidence: string[]) => ({
      id: 'w',
      name: 'Write',
      input: { file_path: file, content, evidence },
    })
    api.next(calls(log(`${line}\n`, ['m1'])))
    session.say(RULE)
    expect((await ends.next()).result).toMatchObject({ saved: 1 })
    expect(textOf(session.memories, file)).toBe(`${line}\n`)
    expect(topics(session.memories)).toEqual([])
    const second = '- [project] The deploy freeze starts 2027-03-04, because the auditors come.'
    api.next(calls(log(`${second}\n`, ['m3'])), calls({ ...log(`${line}\n${second}\n`, ['m3']), id: 'w2' }))
    session.say('The deploy freeze starts 2027-03-04 because the auditors come.')
    expect((await ends.next()).result).toMatchObject({ saved: 1 })
    expect(textOf(session.memories, file)).toBe(`${line}\n${second}\n`)
  })

  it('may be shared with the team where there is one, and never what is known of a person', async () => {
    const { api, home, session } = await learningHome({ settings: { team: { enabled: true } } })
    const { ends } = await following(home)
    const role = 'I am the data engineer of the payments team.'
    api.next(
      calls(
        written('team/user_role.md', 'user', role, ['m1']),
        written('team/project_freeze.md', 'project', 'The deploy freeze starts 2027-03-04.', ['m1']),
      ),
      says('Enough.'),
    )
    session.say(`${role} The deploy freeze starts 2027-03-04.`)
    expect((await ends.next()).result).toMatchObject({ saved: 1 })
    expect(taskIn(api.requests[0]?.bytes)).toContain('Always private.')
    expect(topics(join(session.memories, 'team'))).toEqual(['project_freeze.md'])
  })

  it('waits for the next day, and is not done by rules, when the money is used up', async () => {
    const { api, home, session } = await learningHome({ settings: { budget: { usdPerDay: 0.000001 } } })
    const { client } = await following(home)
    session.say(RULE)
    const found = async () => (await client.jobs()).items.find(({ kind }) => kind === 'extract')
    let job = await found()
    while (job?.state !== 'waiting') job = await found()
    expect(job.error).toContain('dollars are used up')
    expect(api.requests).toHaveLength(0)
    expect(topics(session.memories)).toEqual([])
    writeFileSync(home.places.configFile, JSON.stringify({ notes: { enabled: false } }))
    api.next(saveRule)
    while (topics(session.memories).length === 0) await new Promise((resolve) => setImmediate(resolve))
  })
})
