import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { connectAs } from '../support/connect-as.ts'
import { savedEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'

const RULE = 'Please always run the linter before you commit, because CI rejects everything else.'

const topics = (dir: string) => (existsSync(dir) ? readdirSync(dir).filter((file) => file !== 'MEMORY.md') : [])

async function running(home: Home) {
  const daemon = await startDaemon(home)
  return { ...daemon, ends: await jobEnds(daemon.client, 'extract') }
}

describe('what a person states in a turn', () => {
  it('is a memory when the turn has ended, with what it rests on', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    const events = await savedEvents(client)
    session.say(RULE)
    const { result, runId } = await ends.next()
    expect(result).toEqual({ saved: 1, waiting: 0, known: 0, refused: 0 })
    const [file = ''] = topics(session.memories)
    expect(readFileSync(join(session.memories, file), 'utf8')).toMatch(
      /type: feedback\n---\n\n.*always run the linter/i,
    )
    expect(readFileSync(join(session.memories, 'MEMORY.md'), 'utf8')).toContain(`](${file})`)
    const { items } = await client.changes({ cwd: session.cwd })
    expect(items).toMatchObject([
      {
        file,
        op: 'create',
        actor: `agent:${runId}`,
        runId,
        evidence: [{ sessionId: session.id, messageIds: [`${session.id}-1`], excerpt: RULE, at: expect.any(String) }],
      },
    ])
    expect(events.saved).toMatchObject([{ dir: session.memories, files: [file], actor: `agent:${runId}` }])
    const told = { id: '1', at: expect.any(String), kind: 'saved', files: [file], text: `saved: ${file}` }
    expect(await client.notices({ id: session.id })).toEqual({ items: [told] })
    expect(await client.notices({ id: session.id, harness: 'codex' })).toEqual({ items: [] })
    expect(await client.notices({ id: session.id, after: '1' })).toEqual({ items: [] })
  })

  it('is saved once, and nothing of a turn that states nothing', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    session.say('Can you fix the failing test in src/app.ts?', 'Fixed.')
    expect((await ends.next()).result).toEqual({ skipped: 'nothing is stated in it' })
    expect(existsSync(session.memories)).toBe(false)
    session.say(RULE)
    expect((await ends.next()).result).toMatchObject({ saved: 1 })
    session.say(RULE)
    expect((await ends.next()).result).toEqual({ saved: 0, waiting: 0, known: 1, refused: 0 })
    expect(topics(session.memories)).toHaveLength(1)
    expect((await client.notices({ id: session.id })).items).toHaveLength(1)
  })

  it('is left to the agent where it wrote into the memory directory itself', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { ends } = await running(home)
    const path = join(session.memories, 'feedback_linter.md')
    session.write(
      session.person(RULE),
      ...session.call('Write', { file_path: path, content: 'x' }),
      session.answer('Done.'),
    )
    expect((await ends.next()).result).toEqual({ skipped: 'the agent wrote memories itself' })
    session.say('The deploy freeze starts on 2027-03-04 because the auditors come.')
    await ends.next()
    expect(topics(session.memories).join()).not.toContain('linter')
    expect(topics(session.memories)).toHaveLength(1)
  })

  it('does not come back once it was rejected, and takes nothing else with it', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { ends } = await running(home)
    session.say(RULE)
    await ends.next()
    const [file = ''] = topics(session.memories)
    await connectAs(home, 'user').forget({ cwd: session.cwd, file, reject: 'true' })
    session.say(`${RULE}\n\nThe deploy freeze starts on 2027-03-04 because the auditors come.`)
    expect((await ends.next()).result).toEqual({ saved: 1, waiting: 0, known: 0, refused: 1 })
    expect(topics(session.memories)).toEqual([expect.stringContaining('deploy_freeze')])
  })

  it('is all saved when turns come in a burst', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    for (let n = 0; n < 10; n++) session.say(`Please always run check-${n} before you commit, because CI is strict.`)
    while (topics(session.memories).length < 10) await ends.next()
    const { items } = await client.changes({ cwd: session.cwd })
    expect(items.map(({ op }) => op)).toEqual(Array.from({ length: 10 }, () => 'create'))
    const told = (await client.notices({ id: session.id })).items.flatMap(({ files }) => files)
    expect(told.sort()).toEqual(topics(session.memories).sort())
  })

  it('is gathered from as many turns as the settings say', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ extraction: { everyTurns: 2 } }))
    const session = claudeSession(home)
    const { ends } = await running(home)
    session.say(RULE)
    expect((await ends.next()).result).toEqual({ skipped: 'there are too few turns yet' })
    session.say('The deploy freeze starts on 2027-03-04 because the auditors come.')
    expect((await ends.next()).result).toEqual({ saved: 2, waiting: 0, known: 0, refused: 0 })
  })

  it('is told no more once it is purged', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    session.say(RULE)
    await ends.next()
    const [file = ''] = topics(session.memories)
    await connectAs(home, 'user').forget({ cwd: session.cwd, file, purge: 'true' })
    expect(await client.notices({ id: session.id })).toEqual({ items: [] })
  })

  it('waits for a person where review is required', async () => {
    const home = makeHome()
    writeFileSync(home.places.configFile, JSON.stringify({ review: 'required' }))
    const session = claudeSession(home)
    const { client, ends } = await running(home)
    session.say(RULE)
    expect((await ends.next()).result).toEqual({ saved: 0, waiting: 1, known: 0, refused: 0 })
    expect(topics(session.memories)).toEqual([])
    session.say(RULE)
    expect((await ends.next()).result).toEqual({ saved: 0, waiting: 0, known: 1, refused: 0 })
    const { items } = await client.reviews()
    expect(items).toMatchObject([{ op: 'create', diff: expect.stringContaining('lways run the linter') }])
    expect(await client.notices({ id: session.id })).toEqual({ items: [] })
  })

  it('is passed by while memory is paused or no person sits at the session', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const { ends } = await running(home)
    const person = connectAs(home, 'user')
    await person.pause({ cwd: session.cwd })
    session.say(RULE)
    expect((await ends.next()).result).toEqual({ skipped: `memory is off there: paused in ${session.cwd}` })
    await person.resume({ cwd: session.cwd })
    const script = claudeSession(home, 'script')
    script.write({ ...script.person(RULE), entrypoint: 'sdk-cli' }, script.answer('Done.'))
    expect((await ends.next()).result).toEqual({ skipped: 'no person sits at the session' })
    session.say('Thanks!')
    await ends.next()
    expect(topics(session.memories)).toEqual([])
  })

  it('is not saved again of a new index, also when the memory is gone', async () => {
    const home = makeHome()
    const session = claudeSession(home)
    const first = await running(home)
    session.say(RULE)
    await first.ends.next()
    const [file = ''] = topics(session.memories)
    await connectAs(home, 'user').forget({ cwd: session.cwd, file })
    await first.stop()
    for (const end of ['', '-wal', '-shm']) rmSync(join(home.places.stateDir, `index.db${end}`), { force: true })
    const { ends } = await running(home)
    session.say('The deploy freeze starts on 2027-03-04 because the auditors come.')
    await ends.next()
    expect(topics(session.memories)).toEqual([expect.stringContaining('deploy_freeze')])
  })
})
