import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { adapterFor } from '../../daemon/transcripts/adapters.ts'
import { createReadBack } from '../../daemon/transcripts/read-back.ts'
import { createSessionAnswers } from '../../daemon/transcripts/session-answers.ts'
import { createTail } from '../../daemon/transcripts/tail.ts'
import { ingestRig } from './ingest-rig.ts'

const fixtures = fileURLToPath(new URL('../fixtures/transcripts', import.meta.url))
const harnesses = ['claude-code', 'codex', 'gemini', 'pi']

/** Each scenario by itself: they tell of the same session in different ways. */
const foldersIn = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
const scenarios = foldersIn(fixtures).flatMap((client) =>
  foldersIn(join(fixtures, client)).map((name) => `${client}/${name}`),
)

it.each(scenarios)('counts in a list of sessions the turns that it gives of each: %s', async (scenario) => {
  const harness = harnesses.find((name) => scenario.startsWith(name)) ?? 'generic'
  const rig = ingestRig()
  const names = readdirSync(join(fixtures, scenario), { recursive: true, encoding: 'utf8' })
  const { isTranscript } = adapterFor(harness)
  for (const name of names.filter(isTranscript).sort()) {
    rig.write(
      name,
      readFileSync(join(fixtures, scenario, name), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    await rig.read(harness, name)
  }
  const turnsOf = createReadBack({ tail: createTail({ clock: { now: Date.now } }), redact: async (text) => ({ text }) })
  const answers = createSessionAnswers({
    sessions: rig.stored,
    turnsOf,
    projectOf: (cwd) => cwd,
    isPrivate: () => false,
  })
  const projects = rig.column("SELECT DISTINCT coalesce(project, '') FROM sessions") as string[]
  rig.exec("UPDATE sessions SET project = '' WHERE project IS NULL")
  const counted: Record<string, number> = {}
  const told: Record<string, number> = {}
  for (const cwd of projects)
    for (const { id, turns } of (await answers.list({ cwd })).items) {
      counted[id] = turns
      told[id] = (await answers.one(id, undefined)).turnList.length
    }
  expect(counted).toEqual(told)
  expect(Object.keys(told)).not.toEqual([])
})
