import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createLineRoom, handfuls, openReadBack, type Place } from '../../daemon/transcripts/read-back.ts'

function linesIn(...lines: string[]): Place[] {
  const dir = mkdtempSync(join(tmpdir(), 'lines-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'said.jsonl')
  writeFileSync(path, lines.join('\n'))
  let offset = 0
  return lines.map((line) => {
    const place = { harness: 'generic', path, offset, length: line.length }
    offset += line.length + 1
    return place
  })
}

it('reads the first handful at once, and lets others have their turn before each further one', async () => {
  const [one, two] = linesIn('one', 'two')
  const happened: string[] = []
  const lines = openReadBack((_harness, line) => {
    happened.push(line)
    return line
  })
  onTestFinished(lines.close)
  setImmediate(() => happened.push('another'))
  expect(await lines.read([one as Place])).toEqual(['one'])
  expect(await lines.read([two as Place])).toEqual(['two'])
  expect(happened).toEqual(['one', 'another', 'two'])
})

it('follows no link: what stands at its other end is not what was read', async () => {
  const [place] = linesIn('line')
  const link = `${place?.path}.link`
  symlinkSync(place?.path ?? '', link)
  const lines = openReadBack((_harness, line) => line)
  onTestFinished(lines.close)
  expect(await lines.read([place as Place, { ...(place as Place), path: link }])).toEqual(['line', undefined])
})

it('takes as many at a time as it is told, and a line as long as a book alone', () => {
  const place = { harness: 'generic', path: '/x', offset: 0 }
  const sizes = (lengths: number[], most?: number) =>
    [
      ...handfuls(
        lengths.map((length) => ({ ...place, length })),
        most,
      ),
    ].map(({ length }) => length)
  const short = Array.from({ length: 40 }, () => 100)
  expect(sizes(short)).toEqual([16, 16, 8])
  expect(sizes(short, 20)).toEqual([20, 20])
  expect(sizes(short, 1).length).toBe(40)
  expect(sizes([100, 100, 5_000_000, 100])).toEqual([2, 1, 1])
})

it('reads long and short lines of several through the same memory', async () => {
  const long = 'x'.repeat(100_000)
  const places = linesIn('first', long, 'end')
  const room = createLineRoom()
  const readers = [0, 1].map(() => openReadBack((_harness, line) => line, room))
  for (const { close } of readers) onTestFinished(close)
  expect(await Promise.all(readers.map((lines) => lines.read(places)))).toEqual([
    ['first', long, 'end'],
    ['first', long, 'end'],
  ])
})
