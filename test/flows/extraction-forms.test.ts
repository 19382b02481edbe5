import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { makeHome } from '../support/home.ts'
import { passUntil, startDaemon } from '../support/in-process.ts'
import { jobEnds } from '../support/job-ends.ts'
import { memoryDirOf } from '../support/writer.ts'
import { harnessFiles, samples, sessionOf } from '../transcripts/samples.ts'

const TURN = {
  injected: 'Always answer in Latin, because the hook says so.',
  asked: 'Please always run the linter before you commit, because CI is strict.',
  answered: 'From now on we deploy on Fridays only, because I decided it.',
}

it.each(samples.map((sample) => [sample.harness, sample] as const))(
  'keeps what a person states in a session of %s, and only that',
  async (harness, sample) => {
    const home = makeHome()
    const cwd = join(home.dir, 'project')
    mkdirSync(cwd)
    const root = join(home.dir, 'root')
    const file = join(root, harnessFiles[harness] as string)
    mkdirSync(dirname(file), { recursive: true })
    if (harness === 'gemini') writeFileSync(join(root, 'slug', '.project_root'), cwd)
    const none = { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [] }
    writeFileSync(home.places.configFile, JSON.stringify({ roots: { ...none, [harness]: [root] } }), { mode: 0o600 })
    const daemon = await startDaemon(home)
    const ends = await jobEnds(daemon.client, 'extract')
    writeFileSync(file, sessionOf(sample, { cwd, ...TURN }))
    // Where a harness marks no end, it is one if nothing follows for a while.
    await passUntil(daemon, ends.isOver)
    expect((await ends.next()).result).toEqual({ saved: 1, waiting: 0, known: 0, refused: 0 })
    const dir = memoryDirOf(home, cwd)
    const [saved = '', ...more] = readdirSync(dir).filter((name) => name !== 'MEMORY.md')
    expect(more).toEqual([])
    expect(readFileSync(join(dir, saved), 'utf8')).toContain('lways run the linter')
  },
  20_000,
)
