import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { claudeSession } from '../support/claude-session.ts'
import { startDaemon } from '../support/daemon.ts'
import { savedEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
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
  })
})
