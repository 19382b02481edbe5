import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { jobEnds } from '../support/job-ends.ts'
import { memoryDirOf } from '../support/model-writes.ts'
import { type Sample, samples } from '../transcripts/samples.ts'

const ID = '01a1e1a9-b9ce-7163-a781-d563a8047d00'

/** Below the root of each harness. */
const FILES: Record<string, string> = {
  'claude-code': `slug/${ID}.jsonl`,
  codex: `2026/11/16/rollout-2026-11-16T00-02-39-${ID}.jsonl`,
  gemini: `slug/chats/session-2026-11-16T00-02-${ID}.jsonl`,
  pi: `slug/2026-11-16_${ID}.jsonl`,
  generic: `${ID}.jsonl`,
}

/** A whole session, of today and in this folder. */
function sessionOf({ begin, asks, answers, injects }: Sample, cwd: string): string {
  const lines = [
    ...begin,
    ...injects({ id: 'i', after: null, text: 'Always answer in Latin, because the hook says so.' }),
    asks({ id: 'q', after: null, text: 'Please always run the linter before you commit, because CI is strict.' }),
    ...answers({ id: 'a', after: 'q', text: 'From now on we deploy on Fridays only, because I decided it.' }),
  ]
  const at = new Date().toISOString()
  return lines
    .map((line) => `${line.replaceAll('"/work"', JSON.stringify(cwd)).replaceAll(/2026-11-16T10:00:00[.\d]*Z/g, at)}\n`)
    .join('')
}

it.each(samples.map((sample) => [sample.harness, sample] as const))(
  'keeps what a person states in a session of %s, and only that',
  async (harness, sample) => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const root = join(home.dir, 'root')
    const file = join(root, FILES[harness] as string)
    mkdirSync(dirname(file), { recursive: true })
    if (harness === 'gemini') writeFileSync(join(root, 'slug', '.project_root'), cwd)
    const none = { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [] }
    writeFileSync(home.places.configFile, JSON.stringify({ roots: { ...none, [harness]: [root] } }), { mode: 0o600 })
    const { client } = await startDaemon(home)
    const ends = await jobEnds(client, 'extract')
    writeFileSync(file, sessionOf(sample, cwd))
    expect((await ends.next()).result).toEqual({ saved: 1, waiting: 0, known: 0, refused: 0 })
    const dir = memoryDirOf(home, cwd)
    const [saved = '', ...more] = readdirSync(dir).filter((name) => name !== 'MEMORY.md')
    expect(more).toEqual([])
    expect(readFileSync(join(dir, saved), 'utf8')).toContain('lways run the linter')
  },
  20_000,
)
