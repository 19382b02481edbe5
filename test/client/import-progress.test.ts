import { expect, it } from 'vitest'
import { bar, summary } from '../../client/cli/transfer.ts'

const progress = {
  dir: '/old',
  files: 4,
  bytes: 2_000_000,
  doneFiles: 1,
  doneBytes: 500_000,
  read: 1,
  known: 0,
  left: {},
  sessions: 1,
  turns: 2,
  skipped: {},
}

it('shows how far an import is, in as much room as there is', () => {
  expect(bar(progress, 80)).toBe('[##########..............................] 25%  1 of 4 files, 500 kB of 2.0 MB')
  expect(bar(progress, 52)).toBe('[###..........] 25%  1 of 4 files, 500 kB of 2.0 MB')
  expect(bar(progress, 20)).toBe('25%  1 of 4 files, ')
  expect(bar({ ...progress, files: 0, bytes: 0, doneFiles: 0, doneBytes: 0 }, 60)).toContain(' 0%  0 of 0 files')
})

it('says in the end what was read and what was not, and why', () => {
  expect(summary({ ...progress, left: { unrecognised: 1, odd: 2 }, skipped: { nul: 1 } })).toEqual([
    'read 1 file: 1 session, 2 turns',
    'left 2 files: odd',
    'left 1 file: not a transcript, as far as one can tell',
    'skipped 1 line: with NUL bytes in it',
  ])
  expect(summary({ ...progress, files: 0 })).toEqual(['there are no transcripts in it: no file ends in .jsonl'])
})
