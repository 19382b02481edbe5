import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { filesAtRest } from '../support/at-rest.ts'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'
import { rawRequest } from '../support/raw.ts'

const SECRET = `ghp_${'Zx9Qw4Er7Ty2Ui5Op8As'}1Df6Gh3Jk0Lz7Xc4`
const QUESTION = 'Who signs a release at the lighthouse?'
const ANSWER = 'The lighthouse keeper signs every release by hand.'
const AFTER_START = ['PostToolUse', 'Stop', 'PreCompact', 'SessionEnd']
const events = {
  'claude-code': ['UserPromptSubmit', 'SessionStart', 'SubagentStop', ...AFTER_START],
  codex: ['UserPromptSubmit', 'SessionStart', ...AFTER_START],
  gemini: ['BeforeAgent', 'SessionStart', 'AfterTool', 'AfterAgent', 'PreCompress', 'SessionEnd'],
  pi: ['before_agent_start', 'session_start', 'agent_end', 'session_before_compact', 'session_shutdown'],
}

async function ground() {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const { client, stop } = await startDaemon(home)
  await client.putMemory({ cwd, file: 'alpha.md', content: topic(ANSWER, 'alpha') })
  const hook = async (harness: string, event: string, about: { session_id: string; cwd: string }) => {
    const body = JSON.stringify({ ...about, hook_event_name: event, prompt: QUESTION })
    const headers = { 'content-type': 'application/json' }
    return (await rawRequest(home.places.socketPath, { method: 'POST', path: `/v1/hooks/${harness}`, headers, body }))
      .body
  }
  const secretsAtRest = () => [
    ...readdirSync(home.dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes(SECRET)),
    ...filesAtRest(home.dir).flatMap(({ path, bytes }) => (bytes.includes(SECRET) ? [path] : [])),
  ]
  return { cwd, stop, hook, secretsAtRest }
}

it.for(Object.entries(events))(
  'hooks of a session whose id is a credential are answered, and its id reaches no file: %s',
  async ([harness, [prompt = '', ...others]]) => {
    const { cwd, stop, hook, secretsAtRest } = await ground()
    expect(await hook(harness, prompt, { session_id: SECRET, cwd })).toContain(ANSWER)
    expect(await hook(harness, prompt, { session_id: SECRET, cwd }), 'shown once').not.toContain(ANSWER)
    for (const event of others) await hook(harness, event, { session_id: SECRET, cwd })
    await stop()
    expect(secretsAtRest()).toEqual([])
  },
)

it('hooks in a folder whose name is a credential are silent, and the name reaches no file', async () => {
  const { stop, hook, secretsAtRest } = await ground()
  const answered: string[] = []
  for (const [harness, names] of Object.entries(events))
    for (const event of names)
      if (await hook(harness, event, { session_id: 's1', cwd: `/${SECRET}/project` })) answered.push(event)
  expect(answered).toEqual([])
  await stop()
  expect(secretsAtRest()).toEqual([])
})
