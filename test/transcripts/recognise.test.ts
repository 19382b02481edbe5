import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { recognise, rootFor } from '../../daemon/transcripts/recognise.ts'
import { makeHome } from '../support/home.ts'
import { samples } from './samples.ts'

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
