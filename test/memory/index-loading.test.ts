import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadIndex } from '../../daemon/memory/index-file.ts'

/** The rule in other words: whole lines are taken while both limits hold; of a first line that is too long, characters. */
function expectedPart(text: string): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  let part = ''
  let bytes = 0
  for (const line of lines.slice(0, 200)) {
    bytes += new TextEncoder().encode(line).length
    if (bytes > 25_000) break
    part += line
  }
  if (part !== '' || lines.length === 0) return part
  bytes = 0
  for (const character of text) {
    bytes += new TextEncoder().encode(character).length
    if (bytes > 25_000) break
    part += character
  }
  return part
}

function expectLoaded(text: string): void {
  const part = expectedPart(text)
  const { warning, ...loaded } = loadIndex(Buffer.from(text))
  expect(loaded).toEqual({
    content: part === text ? text : `${part}${part.endsWith('\n') ? '' : '\n'}\n${warning}\n`,
    lines: (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).length,
    bytes: new TextEncoder().encode(text).length,
    truncated: part !== text,
  })
  expect(warning === undefined).toBe(part === text)
  if (warning !== undefined) expect(figuresIn(warning)).toEqual(figuresOf(text, part))
}

type Figures = { lines?: string[]; bytes?: string[]; shown: string[] }

/** What the warning says: which limits were hit and by how much, and what is left. */
function figuresIn(warning: string): Figures {
  const lines = /it has ([\d,]+) lines, ([\d,]+) more than the 200 /.exec(warning)?.slice(1)
  const bytes = /takes? ([\d,]+) bytes, ([\d,]+) more than the 25,000 /.exec(warning)?.slice(1)
  const shown = /Above: (the start of line 1|lines 1–\d+), ([\d,]+) of ([\d,]+) bytes/.exec(warning)?.slice(1) ?? []
  return { ...(lines && { lines }), ...(bytes && { bytes }), shown }
}

function figuresOf(text: string, part: string): Figures {
  const count = (number: number) => number.toLocaleString('en-US')
  const size = (words: string) => new TextEncoder().encode(words).length
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const within = size(lines.slice(0, 200).join(''))
  const kept = part.match(/[^\n]*\n|[^\n]+$/g)?.length ?? 0
  const whole = lines.slice(0, kept).join('') === part
  return {
    ...(lines.length > 200 && { lines: [count(lines.length), count(lines.length - 200)] }),
    ...(within > 25_000 && { bytes: [count(within), count(within - 25_000)] }),
    shown: [whole ? `lines 1–${kept}` : 'the start of line 1', count(size(part)), count(size(text))],
  }
}

const character = fc.constantFrom('a', ' ', 'é', '—', '日', '👩‍💻', '\u2028', '\uFEFF', '\r', '#')
const ending = fc.constantFrom('\n', '\n', '\r\n')
const manyLines = fc
  .array(fc.tuple(fc.string({ unit: character, maxLength: 8 }), fc.nat(60), ending), { minLength: 0, maxLength: 230 })
  .map((lines) => lines.map(([text, times, end]) => text.repeat(times) + end).join(''))
const nearLimits = fc
  .tuple(fc.integer({ min: 1, max: 203 }), fc.integer({ min: 24_990, max: 25_010 }), character, ending, fc.boolean())
  .map(([lines, bytes, fill, end, closed]) => {
    const start = `x${end}`.repeat(lines - 1)
    const rest = bytes - Buffer.byteLength(start) - (closed ? end.length : 0)
    const filled = fill.repeat(Math.floor(rest / Buffer.byteLength(fill)))
    return `${start}${filled}${'y'.repeat(rest - Buffer.byteLength(filled))}${closed ? end : ''}`
  })

/** All of Unicode, in lines of any length, so often that one limit or both are passed. */
const anyUnicode = fc
  .tuple(
    fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 40 }), ending), { minLength: 1, maxLength: 20 }),
    fc.nat(60),
  )
  .chain(([lines, times]) =>
    fc
      .tuple(
        fc.constant(
          lines
            .map(([text, end]) => text + end)
            .join('')
            .repeat(times),
        ),
        fc.string({ unit: 'binary' }),
      )
      .map(([start, last]) => start + last),
  )
const oneLine = fc
  .tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), fc.constantFrom('', '\n', '\r\n', '\nmore'))
  .map(([unit, end]) => {
    const text = unit.replaceAll('\n', ' ')
    return text.repeat(Math.ceil(1_048_576 / Buffer.byteLength(text))) + end
  })

describe('loading the index', () => {
  it('takes whole lines up to both limits, whatever they hold', () => {
    fc.assert(fc.property(fc.oneof(manyLines, nearLimits), expectLoaded), { numRuns: 400 })
    fc.assert(fc.property(anyUnicode, expectLoaded), { numRuns: 200 })
  })

  it('takes the start of a single line of a megabyte, whatever it holds', () => {
    fc.assert(fc.property(oneLine, expectLoaded), { numRuns: 10 })
  })

  it.each([
    ['201 lines without a final newline', `${'x\n'.repeat(200)}x`],
    ['201 lines with CRLF', 'x\r\n'.repeat(201)],
    ['a 201st line that is only a CR', `${'x\n'.repeat(200)}\r`],
    ['25,001 bytes on one line', 'x'.repeat(25_001)],
    ['25,000 bytes and a newline', `${'x'.repeat(25_000)}\n`],
    ['a CRLF across byte 25,000', `a\n${'x'.repeat(24_997)}\r\n`],
    ['a character across byte 25,000', `${'x'.repeat(24_999)}é`],
    ['a byte order mark and 25,000 bytes', `\uFEFF${'x'.repeat(25_000)}`],
    ['200 lines of 25,001 bytes', `${`${'x'.repeat(124)}\n`.repeat(199)}${'x'.repeat(126)}`],
  ])('cuts %s, and says so', (_what, text) => {
    expectLoaded(text)
    expect(loadIndex(text).truncated).toBe(true)
  })

  it('replaces what is no UTF-8, and never throws', () => {
    expect(loadIndex(Buffer.from([0x2d, 0x20, 0xff, 0xe2, 0x82, 0x0a]))).toEqual({
      content: '- \uFFFD\uFFFD\n',
      lines: 1,
      bytes: 9,
      truncated: false,
    })
    expect(loadIndex('a\uD800b')).toEqual({ content: 'a\uFFFDb', lines: 1, bytes: 5, truncated: false })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(400), (bytes, times) => {
        const file = Buffer.concat(Array.from({ length: times }, () => Buffer.from(bytes)))
        const { content, warning = '' } = loadIndex(file)
        expect(Buffer.byteLength(content)).toBeLessThanOrEqual(25_000 + Buffer.byteLength(warning) + 3)
      }),
    )
  })

  it.each([
    ['an empty file', '', 0, 0],
    ['200 lines', 'x\n'.repeat(200), 200, 400],
    ['200 lines without a final newline', `${'x\n'.repeat(199)}x`, 200, 399],
    ['200 lines with CRLF', 'x\r\n'.repeat(200), 200, 600],
    ['25,000 bytes on one line', 'x'.repeat(25_000), 1, 25_000],
    ['25,000 bytes of three-byte characters', `${'日'.repeat(8_333)}\n`, 1, 25_000],
    ['200 lines that are 25,000 bytes', `${'x'.repeat(124)}\n`.repeat(200), 200, 25_000],
  ])('does not cut %s', (_what, content, lines, bytes) => {
    expect(loadIndex(content)).toEqual({ content, lines, bytes, truncated: false })
  })

  it('says how many lines are missing', () => {
    const file = 'x\n'.repeat(201)
    const warning =
      '> Warning: MEMORY.md is not shown in full: it has 201 lines, 1 more than the 200 that are loaded. Above: lines 1–200, 400 of 402 bytes. To see all of it again, keep every entry to one short line, move detail into topic files, and remove pointers that no longer matter.'
    expect(loadIndex(file)).toEqual({
      content: `${'x\n'.repeat(200)}\n${warning}\n`,
      lines: 201,
      bytes: 402,
      truncated: true,
      warning,
    })
  })

  it('says how many bytes are too many', () => {
    const { content, warning } = loadIndex(`first\n${'x'.repeat(24_994)}\n`)
    expect(content).toBe(`first\n\n${warning}\n`)
    expect(warning).toContain(
      'it takes 25,001 bytes, 1 more than the 25,000 allowed. Above: lines 1–1, 6 of 25,001 bytes',
    )
  })

  it('keeps a line that ends with byte 25,000 when more follows', () => {
    const line = `${'x'.repeat(24_999)}\n`
    const { content, warning } = loadIndex(`${line}y`)
    expect(content).toBe(`${line}\n${warning}\n`)
    expect(warning).toContain('Above: lines 1–1, 25,000 of 25,001 bytes')
  })

  it('names both limits when both are hit', () => {
    const { lines, bytes, warning } = loadIndex(`${'x'.repeat(149)}\n`.repeat(300))
    expect({ lines, bytes }).toEqual({ lines: 300, bytes: 45_000 })
    expect(warning).toContain(
      'it has 300 lines, 100 more than the 200 that are loaded; the first 200 of them take 30,000 bytes, 5,000 more than the 25,000 allowed. Above: lines 1–166, 24,900 of 45,000 bytes',
    )
  })

  it('shows the start of a file that is one line of a megabyte, whole characters only', () => {
    const { content, warning, ...rest } = loadIndex('日'.repeat(349_525))
    expect(content).toBe(`${'日'.repeat(8_333)}\n\n${warning}\n`)
    expect(rest).toEqual({ lines: 1, bytes: 1_048_575, truncated: true })
    expect(warning).toContain('Above: the start of line 1, 24,999 of 1,048,575 bytes')
  })
})
