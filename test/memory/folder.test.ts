import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type MemoryFolder, openFolder } from '../../daemon/memory/folder.ts'
import { putAll } from '../../daemon/memory/writer.ts'
import { makeHome } from '../support/home.ts'

/** No text: its bytes cannot be had from one. */
const ODD = Buffer.from([0x6f, 0xff, 0xfe, 0x80, 0x0a])

function ground(files: Record<string, { bytes: Buffer; mode: number }>) {
  const dir = join(makeHome().dir, 'memory')
  mkdirSync(dir)
  for (const [file, { bytes, mode }] of Object.entries(files)) {
    writeFileSync(join(dir, file), bytes)
    chmodSync(join(dir, file), mode)
  }
  const folder = openFolder(dir)
  onTestFinished(folder.close)
  const tree = () =>
    Object.fromEntries(
      readdirSync(dir)
        .sort()
        .map((file) => {
          const { mode } = statSync(join(dir, file))
          return [file, { bytes: readFileSync(join(dir, file)), mode: mode & 0o777 }]
        }),
    )
  const step = (file: string, content: string | undefined) => ({ file, before: folder.read(file), content })
  return { dir, folder, tree, step }
}

/** Another program saves a file after the daemon read it. */
function overtake(dir: string, file: string): { bytes: Buffer; mode: number } {
  writeFileSync(join(dir, file), 'saved meanwhile', { mode: 0o600 })
  return { bytes: Buffer.from('saved meanwhile'), mode: 0o600 }
}

const conflict = expect.objectContaining({ code: 'CONFLICT' })

describe('several files of which one cannot be written', () => {
  it('are put back to the byte and with their permissions, whatever they hold', () => {
    const files = { 'a.md': { bytes: ODD, mode: 0o644 }, 'b.md': { bytes: Buffer.from('b'), mode: 0o640 } }
    const { dir, folder, tree, step } = ground(files)
    const steps = [step('a.md', 'new'), step('b.md', 'new'), step('c.md', 'new'), step('d.md', 'new')]
    const theirs = overtake(dir, 'd.md')
    expect(() => putAll(folder, steps)).toThrow(conflict)
    expect(tree()).toEqual({ ...files, 'd.md': theirs })
  })

  it('come back as they were where they had gone already', () => {
    const files = {
      'a.md': { bytes: ODD, mode: 0o644 },
      'b.md': { bytes: Buffer.from('b'), mode: 0o640 },
      'c.md': { bytes: Buffer.from('c'), mode: 0o600 },
    }
    const { dir, folder, tree, step } = ground(files)
    const steps = ['a.md', 'b.md', 'c.md'].map((file) => step(file, undefined))
    const theirs = overtake(dir, 'c.md')
    expect(() => putAll(folder, steps)).toThrow(conflict)
    expect(tree()).toEqual({ ...files, 'c.md': theirs })
  })

  it('lose none that was to go: that comes last', () => {
    const { dir, folder, step } = ground({ 'a.md': { bytes: ODD, mode: 0o644 } })
    const { ino } = statSync(join(dir, 'a.md'))
    const steps = [step('a.md', undefined), step('MEMORY.md', 'new')]
    overtake(dir, 'MEMORY.md')
    expect(() => putAll(folder, steps)).toThrow(conflict)
    expect(statSync(join(dir, 'a.md')).ino).toBe(ino)
  })

  it('lose none whose mode the user has tightened since', () => {
    const { dir, folder, tree, step } = ground({ 'a.md': { bytes: ODD, mode: 0o644 } })
    const steps = [step('a.md', undefined)]
    chmodSync(join(dir, 'a.md'), 0o600)
    expect(() => putAll(folder, steps)).toThrow(conflict)
    expect(tree()).toEqual({ 'a.md': { bytes: ODD, mode: 0o600 } })
  })

  it('are put back also where the trouble came after the last was written, or one of them stays as it is', () => {
    const files = { 'a.md': { bytes: ODD, mode: 0o644 }, 'b.md': { bytes: Buffer.from('b'), mode: 0o640 } }
    const { folder, tree, step } = ground(files)
    const steps = [step('a.md', 'new'), step('b.md', 'new'), step('c.md', 'new')]
    const trouble = Object.assign(new Error('the disk fails'), { code: 'EIO' })
    const stays = new Error('and fails again')
    let writes = 0
    const failing: MemoryFolder = {
      ...folder,
      write: (file, bytes, options) => {
        writes += 1
        // The first of those that are put back.
        if (writes === 4) throw stays
        folder.write(file, bytes, options)
        if (writes === 3) throw trouble
        return 'written'
      },
    }
    expect(() => putAll(failing, steps)).toThrow(expect.objectContaining({ errors: [trouble, stays] }))
    expect(tree()).toEqual({ ...files, 'b.md': { bytes: Buffer.from('new'), mode: 0o640 } })
  })
})

it('a file makes way for the one that is written in its place under another spelling', () => {
  const { folder, tree, step } = ground({ 'Note.md': { bytes: ODD, mode: 0o600 } })
  putAll(folder, [step('note.md', 'new'), step('Note.md', undefined)])
  expect(tree()).toEqual({ 'note.md': { bytes: Buffer.from('new'), mode: 0o600 } })
})

describe('a name that only differs in case from another', () => {
  const bytes = Buffer.from('new')

  it('is refused where another program made the other since the folder was last written to', () => {
    const { dir, folder } = ground({})
    folder.write('note_one.md', bytes, { expect: null })
    writeFileSync(join(dir, 'Note_Two.md'), 'theirs')
    // In the same tick of an old kernel's clock the folder would look as before.
    utimesSync(dir, 1, 1)
    expect(() => folder.write('note_two.md', bytes, { expect: null })).toThrow('would stand beside')
    expect(readdirSync(dir).sort()).toEqual(['Note_Two.md', 'note_one.md'])
  })

  it('is refused beside our own, and not once that one is gone', () => {
    const { dir, folder } = ground({})
    folder.write('note_one.md', bytes, { expect: null })
    folder.write('Note_Two.md', bytes, { expect: null })
    expect(() => folder.write('note_two.md', bytes, { expect: null })).toThrow('would stand beside')
    folder.remove('Note_Two.md', { expect: undefined })
    folder.write('note_two.md', bytes, { expect: null })
    expect(readdirSync(dir).sort()).toEqual(['note_one.md', 'note_two.md'])
  })
})
