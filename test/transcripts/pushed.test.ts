import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createJobs } from '../../daemon/jobs/jobs.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { createTranscriptReader } from '../../daemon/transcripts/transcript-reader.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'

async function rig() {
  const { core, home } = await testCore({ time: manualTime(Date.now()) })
  const reader = core.lifecycle.add(
    'transcripts',
    createTranscriptReader(core, createProjects(core), createJobs(core, createModels(core))),
  )
  const turn = {
    cwd: home.dir,
    harness: 'mine',
    sessionId: 's',
    turnId: 't',
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi' },
    ],
  }
  return { core, home, reader, keep: () => reader.keepTurn(turn, { actor: 'agent:api', env: {} }) }
}

it('names the jobs of a turn once it was read', async () => {
  const { reader, keep, home } = await rig()
  const kept = await keep()
  expect(kept).toMatchObject({
    session: { harness: 'mine', sessionId: 's' },
    source: { path: join(home.places.stateDir, 'sessions/mine/s/pushed.jsonl') },
  })
  expect(await reader.readTurn(kept)).toEqual([expect.stringMatching(/^extract-/), expect.stringMatching(/^notes-/)])
})

it('does not keep a harness waiting while the index cannot be written', async () => {
  const { core, reader, keep } = await rig()
  const kept = await keep()
  core.db.index().exec('BEGIN IMMEDIATE')
  expect(await reader.readTurn(kept)).toEqual([])
  core.db.index().exec('ROLLBACK')
})
