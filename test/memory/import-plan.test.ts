import { describe, expect, it } from 'vitest'
import { fatesOf } from '../../daemon/memory/import-plan.ts'

/** A directory where every file's hash is what stands after its name. */
const ground = (files: Record<string, string>) => ({
  names: Object.keys(files),
  hashAt: (file: string) => files[file] || undefined,
})
const coming = (...files: [string, string][]) => files.map(([file, hash]) => ({ file, hashes: [hash] }))
const told = (fates: ReturnType<typeof fatesOf>) =>
  fates.map((fate) => (fate.is === 'refused' ? `${fate.file}: refused` : `${fate.file}: ${fate.is} ${fate.as}`))

describe('what comes from elsewhere', () => {
  it.each([
    ['keeps its name where that is free', {}, [['a.md', '1']], ['a.md: created a.md']],
    ['is not needed where it is', { 'a.md': '1' }, [['a.md', '1']], ['a.md: skipped a.md']],
    ['gets a free name beside another', { 'a.md': '1', 'a_2.md': '2' }, [['a.md', '3']], ['a.md: created a_3.md']],
    [
      'is found under the name it got before',
      { 'a.md': '1', 'a_2.md': '3' },
      [['a.md', '3']],
      ['a.md: skipped a_2.md'],
    ],
    ['does not stand beside a twin', { 'Note.md': '1' }, [['note.md', '2']], ['note.md: created note_2.md']],
    ['is found under a twin of its name', { 'Note.md': '1' }, [['note.md', '1']], ['note.md: skipped Note.md']],
    ['goes into no folder beside a twin', { 'Sub/a.md': '1' }, [['sub/b.md', '2']], ['sub/b.md: refused']],
    ['takes no name of what cannot be read', { 'a.md': '' }, [['a.md', '1']], ['a.md: created a_2.md']],
    ['takes no name of a folder', { sub: '', 'sub/x.md': '1' }, [['sub/y.md', '2']], ['sub/y.md: created sub/y.md']],
  ] as [string, Record<string, string>, [string, string][], string[]][])('%s', (_what, files, incoming, fates) => {
    expect(told(fatesOf(coming(...incoming), ground(files)))).toEqual(fates)
  })

  it('does not take names from each other', () => {
    const incoming = coming(['A.md', '1'], ['a.md', '2'], ['a_2.md', '3'])
    expect(told(fatesOf(incoming, ground({})))).toEqual([
      'A.md: created A.md',
      'a.md: created a_2.md',
      'a_2.md: created a_2_2.md',
    ])
  })

  it('is refused when there are too many of its name', () => {
    const files = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [n === 0 ? 'a.md' : `a_${n + 1}.md`, 'x']))
    expect(told(fatesOf(coming(['a.md', '1']), ground(files)))).toEqual(['a.md: refused'])
  })
})
