import { readdirSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { readExport } from '../../daemon/memory/import-file.ts'
import { openSpool } from '../../daemon/memory/spool.ts'
import { header, inPieces, sealed } from '../support/carry.ts'
import { makeHome } from '../support/home.ts'

function reading(file: string, most: Parameters<typeof readExport>[2], pieceBytes?: number) {
  const { dir } = makeHome()
  const spool = openSpool(dir)
  onTestFinished(spool.close)
  return { dir, spool, read: () => readExport(inPieces(Buffer.from(file), pieceBytes), spool, most) }
}

const file = (name: string, content = 'x') => ({ kind: 'file', file: name, content })
const most = { bytes: 10_000, lineBytes: 1_000, lines: 5, files: 3, fileBytes: 2_000 }

it.each([
  [
    'lines',
    sealed([
      header,
      ...Array.from({ length: 4 }, () => ({ kind: 'tombstone', at: header.at, file: 'x', excerpt: '', values: [] })),
    ]),
    /^line 6 of the file is one more/,
  ],
  [
    'files',
    sealed([header, ...['a', 'b', 'c', 'd'].map((name) => file(name))]),
    /^line 5 of the file is one file more/,
  ],
  [
    'bytes in files',
    sealed([header, ...['a', 'b', 'c'].map((name) => file(name, 'y'.repeat(900)))]),
    /^line 4 .* 2000 bytes/,
  ],
  ['bytes in a line', sealed([header, file('a', 'y'.repeat(1_000))]), /^line 2 of the file is longer than 1000 bytes/],
])('takes no more %s than it has room for', async (_what, text, words) => {
  await expect(reading(text, most).read()).rejects.toMatchObject({ code: 'BAD_REQUEST', message: words })
})

it('takes no more bytes than it has room for', async () => {
  const { read } = reading(sealed([header, file('a', 'y'.repeat(200))]), { ...most, bytes: 300 })
  await expect(read()).rejects.toMatchObject({ message: /^line 2 .* 300 bytes an import takes/ })
})

it.each([1, 2, 7, 1_000_000])('reads a file the same in pieces of %i bytes', async (pieceBytes) => {
  const { read, spool } = reading(sealed([header, file('ä.md', 'öü\n€😀')]), { ...most, lines: 9 }, pieceBytes)
  await read()
  expect(spool.bytesOf('ä.md').toString()).toBe('öü\n€😀')
})

it('needs no newline after the end', async () => {
  const whole = await reading(sealed([header]), most).read()
  expect(await reading(sealed([header]).trimEnd(), most).read()).toEqual(whole)
})

it('leaves nothing behind', async () => {
  const { dir, read, spool } = reading(sealed([header]), most)
  await read()
  expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toHaveLength(1)
  spool.close()
  expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([])
})
