/** The services that learn from a session, on a real core with real transcripts; the model is the scripted server, if there is one. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createAgentRunner } from '../../daemon/agent/agent.ts'
import { createExtraction } from '../../daemon/extraction/extraction.ts'
import type { Claimed, JobKind } from '../../daemon/jobs/job.ts'
import { createMemory } from '../../daemon/memory/memory.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createNotes } from '../../daemon/notes/notes.ts'
import { ingestRig } from '../transcripts/ingest-rig.ts'
import { manualTime } from './clock.ts'

const SESSION = { harness: 'generic', sessionId: 's' }

type Options = { url?: string; settings?: Record<string, unknown>; interactive?: boolean }

export async function learner({ url, settings = {}, interactive }: Options = {}) {
  const time = manualTime(Date.UTC(2026, 10, 16, 12))
  const env = url === undefined ? {} : { ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: url }
  const rig = await ingestRig({ settings, env, time })
  const { core, home, projects, sessions } = rig
  const memory = createMemory(core, projects)
  const models = core.lifecycle.add('models', createModels(core))
  await models.refresh()
  const agent = createAgentRunner(core, models, sessions)
  const notes = createNotes(core, projects, sessions, agent, models)
  const extraction = createExtraction(core, projects, sessions, memory, notes, agent, models)

  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const lines: object[] = [
    { type: 'session', id: SESSION.sessionId, cwd, ...(interactive !== undefined && { interactive }) },
  ]
  /** Lines of the transcript, said now. */
  const say = async (...more: object[]) => {
    const at = new Date(core.clock.now()).toISOString()
    for (const line of more) lines.push({ id: `u${lines.length}`, at, ...line })
    rig.write(
      's.jsonl',
      lines.map((line) => JSON.stringify(line)),
    )
    await rig.read('generic', 's.jsonl')
  }
  let isOwner = true
  const run = (job: JobKind, attempts = 1) =>
    job.run({ input: SESSION, attempts } as Claimed, {
      signal: new AbortController().signal,
      ownsLease: () => isOwner,
      progress: () => {},
    })
  return {
    ...{ core, time, cwd, sessions, memory, notes, extraction, say, run, session: SESSION },
    memoryDir: projects.find(cwd, { actor: 'user', env: {} }).dir,
    /** Its lease has gone to another run. */
    loseLease: () => {
      isOwner = false
    },
  }
}
