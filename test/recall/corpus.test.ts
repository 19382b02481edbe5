import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCorpora, createWordIndex, type Indexed } from '../../daemon/recall/corpus.ts'
import { rank } from '../../daemon/recall/rank.ts'
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

const memory = (file: string, description: string, body = ''): Indexed => ({ file, name: '', description, body })

function indexOf(all: readonly Indexed[]) {
  const index = createWordIndex()
  for (const each of all) index.put(each)
  return index
}

/** More of them than are looked at closely: those that are left out must be the same, too. */
const FILES = Array.from({ length: 40 }, (_, n) => `note_${n}.md`)

/** Words with several endings and a letter or two between them: what is mistyped or cut short may stand for many. */
const vocabulary = fc
  .uniqueArray(fc.string({ unit: fc.constantFrom('a', 'e', 'n', 'r', 't'), minLength: 4, maxLength: 6 }), {
    minLength: 2,
    maxLength: 5,
  })
  .map((roots) => roots.flatMap((root) => [root, `${root}s`, `${root}ing`, `${root}ed`, `${root}n`]))
  .map((words) => [...words, '周五部署', 'renewToken'])

/** A few texts for all the files: many fit alike. */
const world = vocabulary.chain((words) => {
  const text = fc.array(fc.constantFrom(...words), { maxLength: 4 }).map((some) => some.join(' '))
  const content = fc.record({ name: text, description: text, body: text })
  return fc.record({
    words: fc.constant(words),
    contents: fc.array(content, { minLength: 1, maxLength: 12 }),
    // Of few, whole words go with one of them.
    files: fc.constantFrom(FILES, FILES.slice(0, 3)),
  })
})

const history = world.chain(({ words, contents, files }) => {
  const word = fc.constantFrom(...words)
  const content = fc.constantFrom(...contents)
  const put = fc.record({ file: fc.constantFrom(...files), content })
  const gone = fc.record({ file: fc.constantFrom(...files), content: fc.constant(undefined) })
  const slip = fc.tuple(word, fc.nat(4)).map(([right, at]) => right.slice(0, at) + right.slice(at + 1))
  const shortForm = word.map((long) => long.slice(0, 3))
  const asked = fc.array(fc.oneof(word, slip, shortForm), { minLength: 1, maxLength: 3 })
  return fc.record({
    begun: fc.array(content, { minLength: files.length, maxLength: files.length }),
    steps: fc.array(fc.oneof(put, put, gone), { maxLength: 40 }),
    order: fc.shuffledSubarray(files, { minLength: files.length }),
    questions: fc.array(
      asked.map((some) => some.join(' ')),
      { minLength: 1, maxLength: 8 },
    ),
  })
})

describe('an index of words', () => {
  it('ranks after any changes, to the last bit, as one made anew in another order', () => {
    fc.assert(
      fc.property(history, ({ begun, steps, order, questions }) => {
        const present = new Map(
          begun.map((content, n) => [FILES[n] as string, { file: FILES[n] as string, ...content }]),
        )
        const changed = indexOf([...present.values()])
        for (const { file, content } of steps)
          if (content) {
            changed.put({ file, ...content })
            present.set(file, { file, ...content })
          } else {
            changed.remove(file)
            present.delete(file)
          }
        const anew = indexOf(order.flatMap((file) => present.get(file) ?? []))
        for (const question of questions)
          expect(rank(question, changed, { limit: 10, explain: true })).toEqual(
            rank(question, anew, { limit: 10, explain: true }),
          )
      }),
    )
  })

  it('counts lengths to the last bit, in whichever order memories are read', () => {
    const all = FILES.slice(0, 10).map((file, n) =>
      memory(file, `cache${' word'.repeat((n * 7) % 23)}`, 'x '.repeat(n % 3)),
    )
    expect(rank('cache', indexOf(all), { limit: 10 })).toEqual(rank('cache', indexOf(all.toReversed()), { limit: 10 }))
  })

  it('takes no word of a memory that is gone for the long form of another', () => {
    const index = indexOf([memory('kept.md', 'the scheduler sleeps')])
    index.put(memory('gone.md', 'schema schedule schedules scheme scholar'))
    expect(rank('sch', index, { limit: 1 }).files).toEqual([])
    index.remove('gone.md')
    expect(rank('sch', index, { limit: 1 }).files).toEqual(['kept.md'])
  })

  it('forgets how a word was written when only other forms of it are left', () => {
    const index = indexOf([memory('kept.md', 'a token'), memory('gone.md', 'all tokens')])
    expect(rank('tokenss', index, { limit: 1 }).files).toHaveLength(1)
    index.remove('gone.md')
    expect(rank('tokenss', index, { limit: 1 }).files).toEqual([])
  })

  it('knows what is written again after many words have come and gone', () => {
    const index = indexOf([memory('kept.md', 'the scheduler sleeps')])
    for (let n = 0; n < 3_000; n++) index.put(memory('turned.md', `lighthouse unit${n}`))
    expect(index.beginning('light', 4)).toEqual(['lighthouse'])
    expect(index.beginning('unit', 4)).toEqual(['unit2999'])
    expect(index.alike('schedulr')).toEqual(['scheduler'])
  })
})
