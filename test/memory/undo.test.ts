import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createJournal } from '../../daemon/memory/journal.ts'
import { createUndo } from '../../daemon/memory/undo.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { testCore } from '../support/core.ts'
import { topic } from '../support/memory.ts'
import { createTestWriter } from '../support/writer.ts'

const model = { actor: 'agent:dream', reason: 'tidied' }
const person = { actor: 'user', reason: 'edited' }

async function open() {
  const { core, home } = await testCore()
  const dir = join(home.dir, 'memory')
  mkdirSync(dir)
  const journal = createJournal(core.db.history)
  const writer = createTestWriter(core, journal)
  const undo = createUndo(core, createProjects(core), writer, journal)
  const path = (file: string) => join(dir, file)
  const tree = () =>
    Object.fromEntries(
      readdirSync(dir)
        .sort()
        .map((file) => [file, readFileSync(path(file), 'utf8')]),
    )
  const save = (file: string, content: string | Buffer) => writeFileSync(path(file), content)
  return { home: home.dir, dir, writer, journal, undo, path, tree, save }
}

it('an undo is refused once its directory leads to a place where no memories may be, and tells nothing of what is there', async () => {
  const { home, dir, writer, undo } = await open()
  const [change] = await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], person)
  writeFileSync(join(home, 'a.md'), topic('Outside.'))
  renameSync(dir, `${dir}-away`)
  symlinkSync(home, dir)
  await expect(undo.change(change?.id ?? 0, 'user')).rejects.toMatchObject({ code: 'REFUSED', reason: 'path' })
})

describe('the undo of a run', () => {
  it('of fifty files names each that was touched since, overwrites nothing, and works once they are put back', async () => {
    const { dir, writer, undo, path, tree, save } = await open()
    for (let n = 0; n < 25; n++)
      await writer.write(dir, [{ file: `f${n}.md`, content: topic(`Old ${n}.`, `Old ${n}`) }], model)
    const before = tree()
    const writes = Array.from({ length: 50 }, (_, n) => ({
      file: `f${n}.md`,
      content: n >= 20 && n < 25 ? null : topic(`New ${n}.`, `New ${n}`),
    }))
    const done = await writer.write(dir, writes, { ...model, runId: 'run' })
    const after = tree()

    save('f3.md', topic('In an editor.'))
    rmSync(path('f7.md'))
    await writer.write(dir, [{ file: 'f30.md', content: topic('By a person.') }], person)
    await writer.write(dir, [{ file: 'f22.md', content: topic('Back again.') }], person)
    const touched = tree()
    const conflict = (n: number) => ({ file: `f${n}.md`, changeId: String(done[n]?.id), problem: 'was changed since' })
    await expect(undo.run('run', 'user')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { conflicts: [3, 7, 22, 30].map(conflict) },
    })
    expect(tree()).toEqual(touched)

    for (const [file, content] of Object.entries(after)) save(file, content)
    rmSync(path('f22.md'))
    await undo.run('run', 'user')
    expect(tree()).toEqual(before)
  })

  it("shows a person's edit that fell between two of its changes of one file, and leaves everything as it is", async () => {
    const { dir, writer, undo, tree, save } = await open()
    const run = { ...model, runId: 'run' }
    await writer.write(dir, [{ file: 'a.md', content: topic('One.') }], run)
    save('a.md', topic('In an editor.'))
    const seen = hashOf(Buffer.from(topic('In an editor.')))
    const [last] = await writer.write(dir, [{ file: 'a.md', content: topic('Two.'), expect: seen }], run)
    const before = tree()
    await expect(undo.run('run', 'user')).rejects.toMatchObject({
      code: 'CONFLICT',
      details: {
        conflicts: [{ file: 'a.md', changeId: String(last?.id), problem: 'was changed by another program in between' }],
      },
    })
    expect(tree()).toEqual(before)
  })

  it('takes its lines out of an index that the user edited meanwhile, and no other word', async () => {
    const { dir, writer, undo, tree, save } = await open()
    await writer.write(dir, [{ file: 'mine.md', content: topic('Mine.', 'Mine') }], person)
    const run = { ...model, runId: 'run' }
    await writer.write(dir, [{ file: 'a.md', content: topic('A.', 'A') }], run)
    save('MEMORY.md', `# My order\n\n${tree()['MEMORY.md']}`)
    await writer.write(dir, [{ file: 'b.md', content: topic('B.', 'B') }], run)
    await undo.run('run', 'user')
    expect(tree()).toEqual({
      'MEMORY.md': '# My order\n\n- [Mine](mine.md) — What is known of Mine\n',
      'mine.md': topic('Mine.', 'Mine'),
    })
  })

  it('takes its line out of an index that holds a credential, whose text is nowhere kept to be put back', async () => {
    const { dir, writer, journal, undo, tree, save } = await open()
    const line = `- the key is ghp_${'A1b2C3d4E5f6'.repeat(3)}\n`
    save('MEMORY.md', line)
    const [done] = await writer.write(dir, [{ file: 'a.md', content: topic('A.', 'A') }], person)
    const kept = {
      before: { hash: hashOf(line), text: '' },
      after: { hash: hashOf(tree()['MEMORY.md'] ?? ''), text: '' },
    }
    expect(journal.partsOf(done?.id ?? 0)).toMatchObject([{ file: 'MEMORY.md', ...kept, undoable: false }])
    await undo.change(done?.id ?? 0, 'user')
    expect(tree()).toEqual({ 'MEMORY.md': line })
  })
})

describe('the bytes that undo puts back', () => {
  const oddities: [string, string][] = [
    ['CRLF', topic('One.\nTwo.').replaceAll('\n', '\r\n')],
    ['no final newline', topic('One.').trimEnd()],
    ['a byte order mark', `\uFEFF${topic('One.')}`],
    ['emoji and combining characters', topic('👩‍💻 🏳️‍🌈 e\u0301 \u{10FFFF} 日本')],
    ['bare CR, tabs and spaces at ends', `${topic('One.\rTwo.\t \n\n\n')}   `],
    ['separators that are no newline', topic('One.\u2028Two.\u2029Three.\u0085Four.\f')],
    ['no front matter', 'just words'],
    ['nothing at all', ''],
  ]

  /** Through an overwrite, a deletion, and their undo's undo. */
  async function thereAndBack(
    { dir, writer, undo, path }: Awaited<ReturnType<typeof open>>,
    file: string,
  ): Promise<Buffer[]> {
    const found: Buffer[] = []
    for (const content of [topic('Another.', 'Another'), null]) {
      const [done] = await writer.write(dir, [{ file, content }], person)
      const [back] = await undo.change(done?.id ?? 0, 'user')
      found.push(readFileSync(path(file)))
      const [again] = await undo.change(back?.id ?? 0, 'user')
      await undo.change(again?.id ?? 0, 'user')
      found.push(readFileSync(path(file)))
    }
    return found
  }

  it.each(oddities)('are the same with %s', async (_what, content) => {
    const ground = await open()
    ground.save('odd.md', content)
    const index = '\uFEFF# Mine\r\n\r\n* [Odd](odd.md) - 🙂'
    ground.save('MEMORY.md', index)
    for (const bytes of await thereAndBack(ground, 'odd.md')) expect(bytes).toEqual(Buffer.from(content))
    expect(ground.tree()['MEMORY.md']).toBe(index)
  })

  it('are the same for any text', async () => {
    const ground = await open()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async (content) => {
        ground.save('any.md', content)
        for (const bytes of await thereAndBack(ground, 'any.md')) expect(bytes).toEqual(Buffer.from(content))
      }),
      { numRuns: 10 },
    )
  })

  it('are not promised for what is no text', async () => {
    const { dir, writer, journal, undo, tree, save } = await open()
    save('bytes.md', Buffer.from([0x2d, 0xff, 0xfe, 0x0a]))
    const [done] = await writer.write(dir, [{ file: 'bytes.md', content: topic('Text.') }], person)
    const after = tree()
    expect(journal.get(done?.id ?? 0)?.undoable).toBe(false)
    await expect(undo.change(done?.id ?? 0, 'user')).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(tree()).toEqual(after)
  })
})
