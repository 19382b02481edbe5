import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createCorpora } from '../../daemon/recall/corpus.ts'
import { topic } from '../support/memory.ts'
import { caller, recallRig } from './rig.ts'

async function corpusRig(over: Parameters<typeof recallRig>[1] = {}) {
  const rig = await recallRig(undefined, over)
  const corpora = createCorpora(rig.core, rig.memory)
  const open = (question = 'question', waitMs = 1_000) => corpora.open(rig.dir, { question, waitMs })
  return { ...rig, corpora, open }
}

describe('the corpus of a directory', () => {
  it('is read once, and then only what has changed', async () => {
    const { put, open, counts, dir } = await corpusRig()
    for (const file of ['a.md', 'b.md', 'deep/c.md', 'MEMORY.md']) put(file, 'x')
    expect([...(await open()).items.keys()].sort()).toEqual(['a.md', 'b.md', 'deep/c.md'])
    await open()
    expect(counts.read).toBe(3)
    put('a.md', 'changed')
    put('deep/er.md', 'lighthouse')
    rmSync(join(dir, 'b.md'))
    const { index, items, partial } = await open()
    expect([index.term('chang'), index.term('lighthous')]).not.toContain(undefined)
    expect([...items.keys()].sort()).toEqual(['a.md', 'deep/c.md', 'deep/er.md'])
    expect({ read: counts.read, size: index.size(), partial }).toEqual({ read: 5, size: 3, partial: false })
  })

  it('of many memories has all', async () => {
    const { put, open } = await corpusRig()
    for (let n = 0; n < 1_200; n++) put(`note_${n}.md`, 'x')
    const { index, items, partial } = await open()
    expect({ size: items.size, words: index.size(), partial }).toEqual({ size: 1_200, words: 1_200, partial: false })
  })

  it('has after a restart the words of all, and knows at once which of them lead to a question', async () => {
    const before = await corpusRig()
    for (const [file, body] of [['a.md', 'the lighthouse'] as const, ['b.md', 'a house'] as const])
      await before.memory.put(before.cwd, caller, { file, content: topic(body, 'Thing') }, 'test')
    before.time.pass(10_000)
    await before.core.stop(0)
    const { open, memory, dir, time } = await corpusRig(before)
    expect(memory.texts.known(dir, 'lighthouse')).toEqual(['a.md'])
    const opening = open('where is the lighthouse', 100)
    time.pass(100)
    const { index, partial } = await opening
    expect({ partial, size: index.size() }).toEqual({ partial: false, size: 2 })
    expect(index.term('lighthous')).toBeDefined()
  })

  it('has nothing where there is nothing, and notices what comes', async () => {
    const { put, open, dir } = await corpusRig()
    rmSync(dir, { recursive: true })
    expect((await open()).items.size).toBe(0)
    put('a.md', 'x')
    await turn()
    expect((await open()).items.size).toBe(1)
  })
})
