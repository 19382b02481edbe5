import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Line, Slice } from '../../daemon/transcripts/tail.ts'
import { type Fixture, muchLater, openFixture } from './tail-fixture.ts'
import { lineOf, linesOf } from './tail-lines.ts'

/** `count` lines of about a kilobyte: more than the fingerprints cover. */
function many(prefix: string, count = 20): string {
  return Array.from({ length: count }, (_, n) => `${lineOf(`${prefix}${100 + n}`, 1_000)}\n`).join('')
}

function textsOf(content: string): string[] {
  return linesOf(Buffer.from(content)).map(({ text }) => text)
}

function writeInPlace(path: string, content: string, position = 0): void {
  const fd = openSync(path, 'r+')
  writeSync(fd, content, position)
  closeSync(fd)
}

function replace(path: string, content: string): void {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
}

function fixtureWith(content: string, now?: () => number): Fixture {
  const fixture = openFixture(now && { now })
  writeFileSync(fixture.path, content)
  expect(fixture.texts()).toEqual(textsOf(content))
  return fixture
}

describe('a file that is not the one that was read', () => {
  const old = many('old')
  const begin = many('old', 10)
  const first = lineOf('old100', 1_000)
  const last = lineOf('old119', 1_000)
  const changes: { what: string; content: string; change: (path: string, content: string) => void }[] = [
    { what: 'cut to nothing', content: '', change: (path) => truncateSync(path) },
    {
      what: 'cut in the middle',
      content: begin,
      change: (path, content) => truncateSync(path, Buffer.byteLength(content)),
    },
    {
      what: 'cut and grown to more than it had',
      content: begin + many('new'),
      change: (path) => {
        truncateSync(path, Buffer.byteLength(begin))
        appendFileSync(path, many('new'))
      },
    },
    { what: 'written again with more in it', content: many('new', 30), change: writeFileSync },
    { what: 'written again with as much in it', content: many('new'), change: writeInPlace },
    {
      what: 'changed in its first line only',
      content: old.replace(first, lineOf('new100', 1_000)),
      change: writeInPlace,
    },
    {
      what: 'changed in its last line only',
      content: old.replace(last, lineOf('new119', 1_000)),
      change: writeInPlace,
    },
    { what: 'replaced by another', content: many('new'), change: replace },
    { what: 'replaced by a copy that has grown', content: old + many('new'), change: replace },
    {
      what: 'deleted and made again',
      content: many('new', 25),
      change: (path, content) => {
        rmSync(path)
        writeFileSync(path, content)
      },
    },
    {
      what: 'rotated',
      content: many('new', 1),
      change: (path, content) => {
        renameSync(path, `${path}.1`)
        writeFileSync(path, content)
      },
    },
  ]

  it.each(changes)('is read anew when it was $what', ({ content, change }) => {
    const { path, read, readAll } = fixtureWith(old)
    change(path, content)
    const slice = read({ capBytes: 1 })
    const rest = readAll()
    expect(slice).toEqual({
      changed: 'rewritten',
      lines: linesOf(Buffer.from(content)).slice(0, 1),
      skipped: [],
      cursor: expect.objectContaining({ generation: 1 }),
      more: rest.lines.length > 0,
    })
    expect(rest.lines).toEqual(linesOf(Buffer.from(content)).slice(1))
    appendFileSync(path, 'one more\n')
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'one more' }], cursor: { generation: 1 } })
  })

  it('is read anew when its second line was changed, though only the first was there at the first look', () => {
    const { path, read, texts } = fixtureWith(`${first}\n`)
    writeFileSync(path, old)
    expect(texts()).toEqual(textsOf(old).slice(1))
    writeInPlace(path, old.replace(lineOf('old101', 1_000), lineOf('new101', 1_000)))
    expect(read()).toMatchObject({ changed: 'rewritten', cursor: { generation: 1 } })
  })

  it('is read anew when a torn line was taken back and another took its place', () => {
    const { path, read } = fixtureWith('one\n{"torn')
    truncateSync(path, 4)
    appendFileSync(path, 'two\n{"another"}\n')
    expect(read()).toMatchObject({
      changed: 'rewritten',
      lines: [{ text: 'one' }, { text: 'two' }, { text: '{"another"}' }],
      cursor: { generation: 1 },
    })
  })

  it('is read anew when the middle of a long torn line was changed before it ended', () => {
    const { path, read } = fixtureWith(`one\n${'torn '.repeat(4_000)}`)
    writeInPlace(path, '\n', 10_003)
    appendFileSync(path, '\n')
    expect(read()).toMatchObject({
      changed: 'rewritten',
      lines: [
        { offset: 0, length: 3 },
        { offset: 4, length: 9_999 },
        { offset: 10_004, length: 10_000 },
      ],
    })
  })

  it('is noticed when it shrinks between the look and the read', () => {
    let act = () => {}
    const { path, read, texts } = fixtureWith(many('old'), () => {
      act()
      return Date.now()
    })
    appendFileSync(path, 'two\n')
    act = () => truncateSync(path, 10)
    expect(read()).toMatchObject({
      changed: 'rewritten',
      lines: [],
      more: false,
      cursor: { generation: 1, scanned: 10 },
    })
    act = () => {}
    writeFileSync(path, many('new'))
    expect(texts()).toEqual(textsOf(many('new')))
  })

  it('is read as it was opened when it is deleted between the look and the read', () => {
    let act = () => {}
    const { path, read } = fixtureWith('one\n', () => {
      act()
      return Date.now()
    })
    appendFileSync(path, 'two\n')
    act = () => rmSync(path, { force: true })
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'two' }] })
    expect(read()).toEqual({ changed: 'gone' })
  })
})

describe('a file that another process writes again and again', () => {
  const WRITER = `
    const fs = require('fs')
    const [path, line] = process.argv.slice(1)
    const fd = fs.openSync(path, 'r+')
    for (let n = 1000; ; n++) {
      fs.writeSync(fd, (line.replaceAll('0000', n) + '\\n').repeat(2_000), 0)
      if (n === 1000) process.send('writing')
    }`

  it('is in the end known as it is', async () => {
    const { path, read } = openFixture()
    const line = lineOf('0000', 500)
    writeFileSync(path, `${line}\n`)
    const child = spawn(process.execPath, ['-e', WRITER, path, line], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const exited = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'message')
    const found = new Map<number, Line[]>()
    const note = (slice: Slice) => {
      if (!('cursor' in slice)) throw new Error(slice.changed)
      const { generation } = slice.cursor
      found.set(generation, [...(found.get(generation) ?? []), ...slice.lines])
      return { generation, more: slice.more }
    }
    while (found.size < 30) note(read())
    child.kill('SIGKILL')
    await exited
    let last = note(read())
    while (last.more) last = note(read())
    expect(found.get(last.generation)).toEqual(linesOf(readFileSync(path)))
  })
})

describe('a file that is still the one that was read', () => {
  it('is not read again when only its times changed', () => {
    const { path, read } = fixtureWith(many('old'), muchLater)
    utimesSync(path, 1, 1)
    expect(read()).toMatchObject({ changed: 'none', lines: [], cursor: { generation: 0 } })
  })

  it('goes on where it was when it comes back', () => {
    const { path, read } = fixtureWith(many('old'))
    renameSync(path, `${path}.away`)
    expect(read()).toEqual({ changed: 'gone' })
    appendFileSync(`${path}.away`, 'two\n')
    renameSync(`${path}.away`, path)
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'two' }], cursor: { generation: 0 } })
  })

  it('goes on where it was when its file system was mounted under another number', () => {
    const { path, read, setCursor } = fixtureWith(many('old'), muchLater)
    setCursor({ device: '1' })
    appendFileSync(path, 'two\n')
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'two' }], cursor: { generation: 0 } })
    setCursor({ device: '1' })
    writeInPlace(path, 'X')
    expect(read()).toMatchObject({ changed: 'rewritten', cursor: { generation: 1 } })
  })

  it('goes on where it was when the part that was not read yet was cut', () => {
    const { path, read, readAll } = openFixture()
    writeFileSync(path, 'one\ntwo\nthree\n')
    read({ capBytes: 1 })
    truncateSync(path, 4)
    appendFileSync(path, 'other\n')
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'other' }], cursor: { generation: 0 } })
    expect(readAll().lines).toEqual([])
  })

  it('gives the lines of two writers in the order of the file', () => {
    const { path, texts } = fixtureWith('')
    const writers = [openSync(path, 'a'), openSync(path, 'a')]
    const said: string[] = []
    for (let n = 0; n < 20; n++) {
      writeSync(writers[n % 2] as number, `${n}\n`)
      if (n % 3 === 0) said.push(...texts())
    }
    writers.forEach(closeSync)
    expect([...said, ...texts()]).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`))
  })
})

describe('the times of a file', () => {
  it('are not trusted while another change could leave the same', () => {
    const { path, read, cursor } = fixtureWith(many('old'))
    expect(cursor().stamp).toBe(null)
    // Often within one tick of the clock that stamps files.
    for (let n = 0; n < 30; n++) {
      writeInPlace(path, many(`n${10 + n}`).slice(0, many('old').length))
      expect(read()).toMatchObject({ changed: 'rewritten', cursor: { generation: n + 1 } })
    }
  })

  it('are trusted once they have settled', () => {
    const { path, read, cursor } = fixtureWith(many('old'), muchLater)
    expect(cursor().stamp).toMatch(/^\d+ \d+$/)
    const before = cursor()
    expect(read()).toMatchObject({ changed: 'none', cursor: before })
    appendFileSync(path, 'two\n')
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'two' }] })
  })
})
