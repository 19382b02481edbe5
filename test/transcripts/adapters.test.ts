import { describe, expect, it } from 'vitest'
import { adapterFor } from '../../daemon/transcripts/adapters.ts'

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
