/** A daemon that asks the scripted server, and a session it follows. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claudeSession } from './claude-session.ts'
import { startDaemon as startProcess } from './daemon.ts'
import { type Home, makeHome } from './home.ts'
import { startDaemon } from './in-process.ts'
import { jobEnds } from './job-ends.ts'
import type { Script } from './messages-api/server.ts'
import { startMessagesApi } from './messages-api/start.ts'

export const topics = (dir: string) =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter((file) => file.endsWith('.md') && file !== 'MEMORY.md')
        .sort()
    : []

export const textOf = (dir: string, file: string) => readFileSync(join(dir, file), 'utf8')

/** What it says first, as a value. */
const titleOf = (body: string) => JSON.stringify(body.split(/\n|(?<=[.!?])\s/)[0] ?? '')

/** A memory as a model writes it. */
export const written = (
  file_path: string,
  type: string,
  body: string,
  evidence: string[],
  { name = titleOf(body), description = titleOf(body) } = {},
) => ({
  id: `w-${file_path.replace(/\W/g, '-')}`,
  name: 'Write',
  input: {
    file_path,
    content: `---\nname: ${name}\ndescription: ${description}\ntype: ${type}\n---\n\n${body}\n`,
    evidence,
  },
})

export async function learningHome({ settings = {}, script }: { settings?: object; script?: Script } = {}) {
  const api = await startMessagesApi(script ? { script } : {})
  const home = makeHome({ ANTHROPIC_API_KEY: 'test-key', ANTHROPIC_BASE_URL: api.url })
  // What is tested here is what is kept: notes would ask the same server.
  const all = { notes: { enabled: false }, ...settings }
  writeFileSync(home.places.configFile, JSON.stringify(all), { mode: 0o600 })
  return { api, home, session: claudeSession(home) }
}

export async function following(home: Home) {
  const daemon = await startDaemon(home)
  return { ...daemon, ends: await jobEnds(daemon.client, 'extract') }
}

/** The same with a process of its own, which can be killed. */
export async function followingProcess(home: Home) {
  const daemon = await startProcess(home)
  return { ...daemon, ends: await jobEnds(daemon.client, 'extract') }
}
