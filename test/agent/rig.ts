/** Tools of one run over a real memory directory, project and transcripts, with the real gate; no model. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createPlaces, type Policy } from '../../daemon/agent/permissions.ts'
import { createToolRuns } from '../../daemon/agent/tool-runner.ts'
import { type ChangeDeps, createOverlay, createWorkspace, type Draft } from '../../daemon/agent/working-copy.ts'
import { openDatabases } from '../../daemon/db/databases.ts'
import { createJournal } from '../../daemon/memory/journal.ts'
import { createTombstones } from '../../daemon/memory/tombstones.ts'
import { createJudge } from '../../daemon/memory/write-checks.ts'
import { createGate } from '../../daemon/memory/writer.ts'
import { createClock } from '../../daemon/platform/clock.ts'
import { message } from '../../daemon/platform/files.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

export const SENTINEL = 'sentinel-of-the-outside'

/** A home with what may be read, what may be changed, and beside it what nobody may see. */
export function agentGround() {
  const { dir: home } = makeHome()
  const memory = join(home, 'memory')
  const project = join(home, 'project')
  const transcripts = join(home, 'transcripts')
  const state = join(home, 'state')
  const outside = join(home, 'outside')
  for (const dir of [memory, project, transcripts, state, outside]) mkdirSync(dir, { mode: 0o700 })
  const store = openDatabases(state, 0)
  onTestFinished(() => store.close())
  const journal = createJournal(store.history)
  const judge = createJudge({
    tombstones: createTombstones(store.history),
    redact,
    teamEnabled: () => false,
    logsEnabled: () => false,
    ofSameProject: (dir) => [dir],
  })
  const clock = createClock()
  const gate = createGate({ journal, judge, redact, clock, onChange: () => {} })
  const by = { actor: 'agent:extraction', reason: 'a run', runId: 'run-1' }
  const check = (draft: Draft) =>
    gate.check(memory, draft, by).then(
      () => undefined,
      (error) => message(error),
    )
  const put = (file: string, body: string) => writeFileSync(join(memory, file), topic(body), { mode: 0o600 })
  const reach = { memoryDir: memory, readable: [project, transcripts], closed: [state] }
  const cite: ChangeDeps['cite'] = (ids) => ({
    evidence: ids.map((id) => ({ sessionId: 's', messageIds: [id], excerpt: '', at: '2026-01-01T00:00:00.000Z' })),
  })
  const tools = (policy: Policy = { may: 'memory' }, given: Partial<ChangeDeps> & { memoryDir?: string } = {}) => {
    const places = createPlaces({ ...reach, memoryDir: given.memoryDir ?? memory })
    const overlay = createOverlay()
    const workspace = createWorkspace({ places, overlay })
    const denied: string[] = []
    const runs = createToolRuns({
      policy,
      places,
      workspace,
      overlay,
      check: given.check ?? check,
      cite: given.cite ?? cite,
      reason: 'a run',
      clock,
      searchPath: '/usr/bin:/bin',
      redact: async (text) => (await redact(text)).text,
      onDenied: (tool) => denied.push(tool),
      onShown: () => {},
    })
    const signal = new AbortController().signal
    const run = async (name: string, input: unknown) => {
      const answer = await runs.run({ name, input }, signal)
      runs.delivered()
      return answer
    }
    return { run, runs, overlay, workspace, denied }
  }
  return {
    home,
    memory,
    project,
    transcripts,
    state,
    outside,
    store,
    journal,
    gate,
    by,
    check,
    put,
    reach,
    clock,
    tools,
  }
}
export type Ground = ReturnType<typeof agentGround>
