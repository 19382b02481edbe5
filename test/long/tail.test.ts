import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createTail } from '../../daemon/transcripts/tail.ts'
import { openFixture } from '../transcripts/tail-fixture.ts'
import { lineOf } from '../transcripts/tail-lines.ts'
import { readApart, writeWithLongLine } from '../transcripts/tail-memory.ts'
import { runSequences } from '../transcripts/tail-sequences.ts'

it('delivers each whole line once and in order, whatever happens to files and reader, in 300 histories', () =>
  runSequences(300))

it('never holds a line of 200 MB, and reads the next', async () => {
  const { path } = openFixture()
  const expected = writeWithLongLine(path, 200_000_000)
  const { heldBytes, ...found } = await readApart(path)
  expect(found).toEqual(expected)
  expect(heldBytes).toBeLessThan(20_000_000)
})

it('gives a line of 64 MB, holding it twice at most, and skips one that is a byte longer', async () => {
  const { path } = openFixture()
  const { lines } = writeWithLongLine(path, 64_000_000)
  const { heldBytes, ...found } = await readApart(path)
  expect(found).toEqual({ lines: [lines[0], { offset: 4, length: 64_000_000 }, lines[1]], skipped: [] })
  expect(heldBytes).toBeLessThan(150_000_000)
  const expected = writeWithLongLine(path, 64_000_001)
  expect(await readApart(path)).toMatchObject(expected)
})

it('reads 200 MB about as fast as a bare loop that reads and splits', () => {
  const { path } = openFixture()
  writeTranscript(path, 200_000_000)
  const rounds = Array.from({ length: 9 }, () => ({
    bare: cpuMs(() => readBare(path)),
    ours: cpuMs(() => readOurs(path)),
  }))
  const least = (of: (round: { bare: number; ours: number }) => number) => Math.min(...rounds.map(of))
  const ratio = least(({ bare }) => bare) / least(({ ours }) => ours)
  console.info(`speed of the tailer, a bare loop being 1: ${ratio.toFixed(2)}`)
  expect(readOurs(path)).toBe(readBare(path))
  expect(ratio).toBeGreaterThan(0.6)
})

const SLICE_BYTES = 1_000_000

function readOurs(path: string): number {
  const tail = createTail(Date)
  let units = 0
  let slice = tail.readSlice(path, undefined, { capBytes: SLICE_BYTES })
  for (;;) {
    if (!('cursor' in slice)) throw new Error(slice.changed)
    for (const { text } of slice.lines) units += text.length
    if (!slice.more) return units
    slice = tail.readSlice(path, slice.cursor, { capBytes: SLICE_BYTES })
  }
}

/** Hands on a slice of lines at a time too, but no places, and looks at nothing. */
function readBare(path: string): number {
  const fd = openSync(path, 'r')
  const chunk = Buffer.allocUnsafe(524_288)
  let lines: string[] = []
  let units = 0
  let kept = 0
  let sliceBytes = 0
  const handOn = () => {
    for (const text of lines) units += text.length
    lines = []
    sliceBytes = 0
  }
  for (let got = -1; got !== 0; ) {
    got = readSync(fd, chunk, kept, 262_144, null)
    const bytes = chunk.subarray(0, kept + got)
    let from = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      lines.push(bytes.toString('utf8', from, end))
      from = end + 1
    }
    chunk.copyWithin(0, from, bytes.length)
    kept = bytes.length - from
    sliceBytes += got
    if (sliceBytes >= SLICE_BYTES) handOn()
  }
  handOn()
  closeSync(fd)
  return units
}

/** Lines of 200 bytes to 4 KB, a third of them with more than ASCII. */
function writeTranscript(path: string, sizeBytes: number): void {
  const fd = openSync(path, 'w')
  for (let id = 0, written = 0; written < sizeBytes; ) {
    let block = ''
    for (; block.length < 1_000_000; id++) {
      const line = lineOf(`${id}`, 200 + ((id * 7_919) % 3_800))
      block += `${id % 3 === 0 ? line : line.replace(/[^ -~]/g, 'e')}\n`
    }
    written += writeSync(fd, block)
  }
  closeSync(fd)
}

/** Of this thread's work: other processes must not count. */
function cpuMs(act: () => unknown): number {
  const before = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
