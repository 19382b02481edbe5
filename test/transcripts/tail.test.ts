import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createTail, type Slice } from '../../daemon/transcripts/tail.ts'
import type { Outcome } from './tail-exhausted.ts'
import { AMPLE, openFixture } from './tail-fixture.ts'
import { lineOf, linesOf } from './tail-lines.ts'

const exhaustedMain = fileURLToPath(new URL('./tail-exhausted.ts', import.meta.url))

describe('reading a transcript', () => {
  it('gives whole lines with their place, and leaves the torn one for later', () => {
    const { path, read } = openFixture()
    writeFileSync(path, 'one\ntwø\nthr')
    expect(read()).toEqual({
      changed: 'appended',
      lines: [
        { offset: 0, length: 3, text: 'one' },
        { offset: 4, length: 4, text: 'twø' },
      ],
      skipped: [],
      more: false,
      cursor: expect.objectContaining({ generation: 0, offset: 9, scanned: 12, sizeBytes: 12 }),
    })
    appendFileSync(path, 'ee')
    expect(read()).toMatchObject({ changed: 'appended', lines: [], cursor: { offset: 9, scanned: 14 } })
    appendFileSync(path, '\n')
    expect(read()).toMatchObject({
      changed: 'appended',
      lines: [{ offset: 9, length: 5, text: 'three' }],
      cursor: { generation: 0, offset: 15, scanned: 15 },
    })
    expect(read()).toMatchObject({ changed: 'none', lines: [], skipped: [], more: false })
  })

  it('takes an empty file for one without lines', () => {
    const { path, read } = openFixture()
    writeFileSync(path, '')
    expect(read()).toMatchObject({ changed: 'none', lines: [], more: false })
    appendFileSync(path, 'one\n')
    expect(read()).toMatchObject({ changed: 'appended', lines: [{ text: 'one' }], cursor: { generation: 0 } })
  })

  it('knows no empty lines, no carriage return at the end and no byte order mark', () => {
    const { path, readAll } = openFixture()
    writeFileSync(path, '\uFEFFone\r\n\n\r\n\r\r\ntwo\r\nth\rree\n')
    expect(readAll().lines).toEqual([
      { offset: 3, length: 3, text: 'one' },
      { offset: 11, length: 1, text: '\r' },
      { offset: 14, length: 3, text: 'two' },
      { offset: 19, length: 6, text: 'th\rree' },
    ])
  })

  it('ends a line at a line feed and at nothing else', () => {
    const { path, texts } = openFixture()
    const said = 'a\u2028b\u2029c\u0085d\ve\ff\u{1F980}'
    writeFileSync(path, `${said}\n${said}\n`)
    expect(texts()).toEqual([said, said])
  })

  it.each([
    ['a NUL', 'nul', [0x61, 0, 0x62]],
    ['bytes of Latin-1', 'not-utf8', [0x66, 0xfc, 0x72]],
    ['a character cut in half', 'not-utf8', [0x61, 0xe6, 0x97]],
    ['half a surrogate pair', 'not-utf8', [0xed, 0xa0, 0x80]],
    ['a character in too many bytes', 'not-utf8', [0xc0, 0xaf]],
    ['a NUL among bytes that are no text', 'nul', [0xff, 0, 0xff]],
  ] as const)('skips a line with %s, says where it was, and reads the next', (_what, reason, bytes) => {
    const { path, readAll } = openFixture()
    writeFileSync(path, Buffer.from([...Buffer.from('öne\n'), ...bytes, ...Buffer.from('\r\ntwo\n')]))
    const after = 5 + bytes.length + 2
    expect(readAll()).toEqual({
      lines: [
        { offset: 0, length: 4, text: 'öne' },
        { offset: after, length: 3, text: 'two' },
      ],
      skipped: [{ offset: 5, length: bytes.length, reason }],
      slices: 1,
    })
  })

  it('stops after as many bytes of lines as it may take, and goes on from there', () => {
    const { path, read } = openFixture()
    writeFileSync(path, 'one\ntwo\nthree\nfour\n')
    expect(read({ capBytes: 6 })).toMatchObject({ lines: [{ text: 'one' }, { text: 'two' }], more: true })
    expect(read({ capBytes: 6 })).toMatchObject({ lines: [{ text: 'three' }], more: true })
    expect(read({ capBytes: 6 })).toMatchObject({ changed: 'appended', lines: [{ text: 'four' }], more: false })
  })

  it('reads no more of an endless line in one slice than it may take', () => {
    const { path, read, readAll } = openFixture()
    const long = lineOf('long', 1_000_000)
    writeFileSync(path, `${long}\nshort\n`)
    expect(read({ capBytes: 300_000 })).toMatchObject({ changed: 'appended', lines: [], more: true })
    expect(readAll({ capBytes: 300_000 }).lines.map(({ text }) => text)).toEqual([long, 'short'])
  })

  it('finds the lines that a plain split finds, however the file grows and the slices fall', () => {
    const piece = fc.oneof(
      { weight: 6, arbitrary: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)) },
      { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => Buffer.from(`${text}\n`)) },
      { weight: 2, arbitrary: fc.constantFrom('\n', '\r\n', '\r', 'é').map((text) => Buffer.from(text)) },
      { weight: 1, arbitrary: fc.integer({ min: 4_000, max: 10_000 }).map((size) => Buffer.from(lineOf('x', size))) },
    )
    const looks = fc.array(fc.record({ piece, capBytes: fc.constantFrom(1, 50, 4_096, 9_000) }), { maxLength: 30 })
    fc.assert(
      fc.property(looks, (all) => {
        const { path, readAll } = openFixture()
        // No byte order mark by chance.
        writeFileSync(path, '-\n')
        const found = [readAll()]
        for (const look of all) {
          appendFileSync(path, look.piece)
          found.push(readAll(look))
        }
        const content = readFileSync(path)
        expect(found.flatMap(({ lines }) => lines)).toEqual(linesOf(content))
        for (const { offset, length, reason } of found.flatMap(({ skipped }) => skipped))
          expect(reason).toBe(content.subarray(offset, offset + length).includes(0) ? 'nul' : 'not-utf8')
      }),
      { numRuns: 60 },
    )
  })
})

describe('a path that gives nothing', () => {
  const tail = createTail(Date)
  const unreadable = (reason: string) => ({ changed: 'unreadable', reason })
  const cases: { what: string; make: (path: string) => string | undefined; found: Slice | object }[] = [
    { what: 'nothing', make: () => undefined, found: { changed: 'gone' } },
    {
      what: 'something below a file',
      make: (path) => {
        writeFileSync(path, '')
        return join(path, 'x')
      },
      found: { changed: 'gone' },
    },
    {
      what: 'a link',
      make: (path) => {
        writeFileSync(`${path}.real`, 'one\n')
        symlinkSync(`${path}.real`, path)
        return undefined
      },
      found: unreadable('it is a link; links are not followed'),
    },
    {
      what: 'a folder',
      make: (path) => {
        mkdirSync(path)
        return undefined
      },
      found: unreadable('it is not a plain file'),
    },
    {
      what: 'a pipe without a writer',
      make: (path) => {
        execFileSync('mkfifo', [path])
        return undefined
      },
      found: unreadable('it is not a plain file'),
    },
    { what: 'a device', make: () => '/dev/zero', found: unreadable('it is not a plain file') },
    {
      what: 'a name that is too long',
      make: (path) => path + 'x'.repeat(300),
      found: unreadable('it cannot be read (ENAMETOOLONG)'),
    },
    {
      what: 'a name with a NUL',
      make: (path) => `${path}\0`,
      found: unreadable('it cannot be read (ERR_INVALID_ARG_VALUE)'),
    },
    {
      what: 'a compressed archive',
      make: (path) => {
        writeFileSync(`${path}.zst`, Buffer.from('28b52ffd0458190000', 'hex'))
        return `${path}.zst`
      },
      found: { changed: 'unsupported', reason: 'it is compressed (zstd)' },
    },
  ]

  it.each(cases)('$what is told as a value', ({ make, found }) => {
    const { path } = openFixture()
    expect(tail.readSlice(make(path) ?? path, undefined, AMPLE)).toEqual(found)
  })

  it('a socket is told as a value', async () => {
    const { path } = openFixture()
    const server = createServer()
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(path, resolve))
    expect(tail.readSlice(path, undefined, AMPLE)).toEqual(unreadable('it cannot be read (ENXIO)'))
  })

  it('a file of another user is told as a value, and read once it may be', () => {
    const { path, read, texts } = openFixture()
    writeFileSync(path, 'one\n')
    chmodSync(path, 0)
    expect(asOrdinaryUser(read)).toEqual(unreadable('it cannot be read (EACCES)'))
    chmodSync(path, 0o600)
    expect(texts()).toEqual(['one'])
  })

  it('one that cannot be opened because too much is open is no fault of the file', async () => {
    const { path } = openFixture()
    writeFileSync(path, 'one\n')
    const child = spawn('sh', ['-c', 'ulimit -n 64 && exec "$@"', 'sh', process.execPath, exhaustedMain, path], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const [outcomes] = (await once(child, 'message')) as [Outcome[]]
    expect(outcomes).toEqual([{ threw: 'EMFILE' }, { lines: ['one'] }])
  })

  it.runIf(process.platform === 'linux')('leaves no file open', () => {
    const { path, read } = openFixture()
    for (const { make } of cases.slice(0, 5)) {
      make(path)
      read()
      rmSync(path, { recursive: true, force: true })
    }
    writeFileSync(path, 'one\n')
    read()
    const open = readdirSync('/proc/self/fd').filter((fd) => targetOf(fd).startsWith(dirname(path)))
    expect(open).toEqual([])
  })
})

/** Root may read everything, so the test is another user for a moment. */
function asOrdinaryUser<T>(act: () => T): T {
  if (process.geteuid?.() !== 0) return act()
  process.seteuid?.(4243)
  try {
    return act()
  } finally {
    process.seteuid?.(0)
  }
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
