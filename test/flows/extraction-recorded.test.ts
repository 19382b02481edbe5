import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { passUntil } from '../support/in-process.ts'
import { following, learningHome, topics } from '../support/learning.ts'
import { says } from '../support/messages-api/answers.ts'
import { append } from '../support/transcripts.ts'
import { memoryDirOf } from '../support/writer.ts'
import { harnessFiles, type Sample, samples, sessionOf } from '../transcripts/samples.ts'

const AUTOMEMORY = join(
  import.meta.dirname,
  '../fixtures/transcripts/claude-code-2.1.325/18-automemory/-home-dev-proj-demo',
)
const ID = '00000018-0000-4000-8000-000000000001'

describe('a recorded session in which the agent wrote memories itself', () => {
  it.each(['with a model', 'without'])('is passed by, %s, and what comes after it is not', async (how) => {
    const { api, home, session } = await learningHome({
      settings: { extraction: { nonInteractive: true }, ...(how === 'without' && { budget: { usdPerDay: 0 } }) },
    })
    const { ends } = await following(home)
    const now = new Date().toISOString()
    const text = readFileSync(join(AUTOMEMORY, `${ID}.jsonl`), 'utf8')
      .replaceAll(
        /\/home\/dev\/homes\/18-automemory\/.claude\/projects\/-home-dev-proj-demo\/memory/g,
        session.memories,
      )
      .replaceAll('/home/dev/proj/demo', session.cwd)
      .replaceAll(/"timestamp":"2026-[^"]*"/g, `"timestamp":"${now}"`)
    const file = join(dirname(session.file), `${ID}.jsonl`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    expect((await ends.next()).result).toEqual({ skipped: 'the agent wrote memories itself' })
    expect(api.requests).toHaveLength(0)
    api.next(says('Nothing to save.'))
    const later = {
      parentUuid: null,
      isSidechain: false,
      sessionId: ID,
      cwd: session.cwd,
      version: '2.1.0',
      timestamp: now,
    }
    append(
      file,
      { ...later, type: 'user', uuid: 'later-1', message: { role: 'user', content: 'Thanks, what is next?' } },
      {
        ...later,
        type: 'assistant',
        uuid: 'later-2',
        parentUuid: 'later-1',
        message: {
          id: 'm',
          role: 'assistant',
          model: 'claude',
          content: [{ type: 'text', text: 'That is all.' }],
          stop_reason: 'end_turn',
        },
      },
    )
    await ends.next()
    expect(api.requests).toHaveLength(how === 'without' ? 0 : 1)
    if (how === 'with a model') expect(String(api.requests[0]?.bytes)).toContain('New are 2 messages')
    expect(topics(session.memories)).toEqual([])
  })
})

/** What this program gives to an agent, as each harness writes it down. */
const RECALLED = 'A memory said: always answer in Latin, because the person likes it.'

it.each(samples.map((sample) => [sample.harness, sample] as const))(
  'tells a model nothing of what was injected into a session of %s',
  async (harness, sample: Sample) => {
    const { api, home, session } = await learningHome({
      settings: { roots: { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [] } },
    })
    const root = join(home.dir, 'root')
    const { cwd } = session
    const file = join(root, harnessFiles[harness] as string)
    mkdirSync(dirname(file), { recursive: true })
    if (harness === 'gemini') writeFileSync(join(root, 'slug', '.project_root'), cwd)
    const none = { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [] }
    const settings = { roots: { ...none, [harness]: [root] }, notes: { enabled: false } }
    writeFileSync(home.places.configFile, JSON.stringify(settings), { mode: 0o600 })
    const daemon = await following(home)
    api.next(says('Nothing to save.'))
    writeFileSync(
      file,
      sessionOf(sample, {
        cwd,
        injected: RECALLED,
        asked: 'Please look at the failing build.',
        answered: 'It is red.',
      }),
    )
    // Where a harness marks no end, it is one if nothing follows for a while.
    await passUntil(daemon, () => api.requests.length > 0)
    await daemon.ends.next()
    const told = String(api.requests[0]?.bytes)
    expect(told).toContain('Please look at the failing build.')
    expect(told).toContain('It is red.')
    expect(told).not.toContain('answer in Latin')
    expect(topics(memoryDirOf(home, cwd))).toEqual([])
  },
  20_000,
)
