import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { adapterFor, recognise, rootFor } from '../../../daemon/transcripts/formats/format.ts'
import { makeHome } from '../../support/home.ts'
import { samples } from '../samples.ts'

const ID = '00000008-0000-4000-8000-000000000001'

describe('the path of a transcript', () => {
  it.each([
    ['claude-code', `-work/${ID}.jsonl`, { sessionId: ID }],
    ['claude-code', `-work/${ID}/subagents/agent-a77.jsonl`, { sessionId: ID, subAgent: 'a77' }],
    ['claude-code', `-work/${ID}/subagents/workflows/w1/agent-a77.jsonl`, { sessionId: ID, subAgent: 'a77' }],
    ['claude-code', '-work/agent-a77.jsonl', { subAgent: 'a77' }],
    ['codex', `2026/11/16/rollout-2026-11-16T00-02-20-${ID}.jsonl`, { sessionId: ID }],
    ['codex', `rollout-2026-11-16T00-02-20-${ID}.jsonl`, { sessionId: ID }],
    ['gemini', 'demo/chats/session-2026-11-16T00-03-973b8a0a.jsonl', {}],
    ['gemini', `demo/chats/${ID}/helper.jsonl`, { sessionId: ID, subAgent: 'helper' }],
    ['pi', `--work--/2026-11-16T00-10-00-000Z_${ID}.jsonl`, { sessionId: ID }],
    ['generic', 'mine/today.jsonl', { sessionId: 'today' }],
    ['generic', 'today.jsonl', { sessionId: 'today' }],
    ['generic', 'my-harness/s1/pushed.jsonl', { harness: 'my-harness', sessionId: 's1' }],
  ])('of %s, %s, tells what it can', (harness, path, described) => {
    expect(adapterFor(harness).isTranscript(path)).toBe(true)
    expect(adapterFor(harness).describe(path)).toEqual(described)
  })

  it.each([
    ['claude-code', '-work/memory/MEMORY.md'],
    ['claude-code', `-work/${ID}/tool-results/b99.txt`],
    ['claude-code', `-work/${ID}/subagents/agent-a77.meta.json`],
    ['claude-code', `-work/${ID}/subagents/workflows/w1/journal.jsonl`],
    ['claude-code', `${ID}.jsonl`],
    ['codex', `2026/11/16/rollout-2026-11-16T00-02-20-${ID}.jsonl.zst`],
    ['codex', '2026/11/16/history.jsonl'],
    ['gemini', 'demo/logs.json'],
    ['gemini', 'demo/.project_root'],
    ['pi', '--work--/notes.md'],
    ['generic', 'readme.md'],
    ['generic', ''],
  ])('of %s is not %s', (harness, path) => {
    expect(adapterFor(harness).isTranscript(path)).toBe(false)
    expect(adapterFor(harness).describe(path)).toEqual({})
  })

  it.each(['opencode', '', 'constructor', '__proto__'])(
    'of %j, which has no form of its own, is of the generic form',
    (name) => {
      expect(adapterFor(name).harness).toBe('generic')
    },
  )
})

function written(text: string): string {
  const path = join(makeHome().dir, 'deep', 'x.jsonl')
  mkdirSync(dirname(path))
  writeFileSync(path, text)
  return path
}

const said = { id: 'a', after: null, text: 'one' }

describe('recognise', () => {
  it.each(samples)(
    'knows a transcript of $harness by its first lines',
    ({ harness, begin, asks, answers, fork, unknown }) => {
      const lines = [...begin, asks(said), ...answers({ ...said, id: 'b' })]
      expect(recognise(written(`${lines.join('\n')}\n`))).toEqual({ harness })
      expect(recognise(written(`not JSON\n{}\n${unknown}\n${lines.join('\n')}\n`))).toEqual({ harness })
      if (fork) expect(recognise(written(`${fork.join('\n')}\n`))).toEqual({ harness })
    },
  )

  it('looks beyond a first line as long as a picture, but not for ever', () => {
    const picture = JSON.stringify({ type: 'user', text: 'x'.repeat(100_000) })
    const codex = JSON.stringify({ type: 'session_meta', payload: { id: 's' } })
    expect(recognise(written(`${picture}\n${codex}\n`))).toEqual({ harness: 'codex' })
    expect(recognise(written(`${JSON.stringify({ type: 'user', text: 'x'.repeat(5_000_000) })}\n${codex}\n`))).toEqual({
      left: 'unrecognised',
    })
  })

  it('says why it knows a file not', () => {
    const path = written('{"x":1}\n[1]\nnull\n')
    expect(recognise(path)).toEqual({ left: 'unrecognised' })
    expect(recognise(written(''))).toEqual({ left: 'empty' })
    expect(recognise(dirname(path))).toEqual({ left: 'unreadable' })
    expect(recognise(`${path}.none`)).toEqual({ left: 'unreadable' })
    symlinkSync(path, `${path}.link`)
    expect(recognise(`${path}.link`)).toEqual({ left: 'unreadable' })
  })

  it('finds the root from which on a path says what its harness means', () => {
    const root = (harness: string, path: string) => rootFor(harness, path, '/in')
    expect(root('claude-code', '/in/a/projects/-p/s.jsonl')).toBe('/in/a/projects')
    expect(root('claude-code', '/in/a/-p/s/subagents/deep/agent-x.jsonl')).toBe('/in/a')
    expect(root('gemini', '/in/tmp/demo/chats/session-1.jsonl')).toBe('/in/tmp')
    expect(root('gemini', '/in/tmp/demo/chats/s/sub.jsonl')).toBe('/in/tmp')
    expect(root('pi', '/in/--p--/t_s.jsonl')).toBe('/in')
    expect(root('codex', '/in/2026/11/16/rollout-x.jsonl')).toBe('/in')
    expect(root('generic', '/in/a/b.jsonl')).toBe('/in')
  })
})
