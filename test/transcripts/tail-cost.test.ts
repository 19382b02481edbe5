import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { muchLater, openFixture } from './tail-fixture.ts'
import { lineOf } from './tail-lines.ts'
import { readApart, writeWithLongLine } from './tail-memory.ts'

/** Head, and what stands before the place where reading goes on. */
const FINGERPRINTS_BYTES = 8_192

/** What this thread read from files meanwhile: calls and bytes. */
function readsOf(act: () => unknown): { calls: number; bytes: number } {
  const counters = () => readFileSync('/proc/thread-self/io', 'utf8')
  const number = (text: string, name: string) => Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1])
  // Reading the counters counts as well.
  const [first, before] = [counters(), counters()]
  act()
  const after = counters()
  const spent = (name: string) => number(after, name) - 2 * number(before, name) + number(first, name)
  return { calls: spent('syscr'), bytes: spent('rchar') }
}

describe.runIf(process.platform === 'linux')('a look at a file', () => {
  it('reads nothing when the file was not touched', () => {
    const { path, read, readAll } = openFixture({ now: muchLater })
    writeFileSync(path, 'one\ntorn')
    readAll()
    expect(readsOf(read)).toEqual({ calls: 0, bytes: 0 })
  })

  it('reads two fingerprints when the file has come to another device', () => {
    const { path, read, readAll, setCursor } = openFixture({ now: muchLater })
    writeFileSync(path, `${lineOf('old', 10_000)}\n`)
    readAll()
    setCursor({ device: '1' })
    expect(readsOf(read)).toEqual({ calls: 2, bytes: FINGERPRINTS_BYTES })
  })

  it('reads what was appended and two fingerprints, in two calls', () => {
    const { path, read, readAll } = openFixture({ now: muchLater })
    writeFileSync(path, `${lineOf('old', 3_000_000)}\n`)
    readAll()
    const line = `${lineOf('new', 20_000)}\n`
    appendFileSync(path, line)
    expect(readsOf(read)).toEqual({ calls: 2, bytes: Buffer.byteLength(line) + FINGERPRINTS_BYTES })
  })

  it('reads only what is new of a torn line, and the whole line once when it ends', () => {
    const { path, readAll, cursor } = openFixture()
    writeFileSync(path, 'one\n')
    readAll()
    const piece = 'x'.repeat(100_000)
    for (let n = 0; n < 20; n++) {
      appendFileSync(path, piece)
      expect(readsOf(() => readAll()).bytes).toBeLessThanOrEqual(piece.length + FINGERPRINTS_BYTES)
    }
    appendFileSync(path, '\n')
    expect(cursor()).toMatchObject({ offset: 4, scanned: 2_000_004 })
    expect(readsOf(() => readAll()).bytes).toBeLessThanOrEqual(20 * piece.length + 2 + FINGERPRINTS_BYTES)
  })
})

it('never holds a line of 65 MB, and reads the next', async () => {
  const { path } = openFixture()
  const expected = writeWithLongLine(path, 65_000_000)
  const { heldBytes, ...found } = await readApart(path)
  expect(found).toEqual(expected)
  expect(heldBytes).toBeLessThan(20_000_000)
})
