/** Lines that a model adds to a daily log. What the log holds stays as it is, whether the model repeats it or not. */
import { absoluteDates, relativeDatesIn } from '../dates/dates.ts'
import { localStamp } from '../session-words.ts'
import { plainText } from './compared-words.ts'
import { ruleLine } from './provenance.ts'
import type { Spoken, Voices } from './voices.ts'

type Log = { file: string; text: string; added: readonly string[] }

const LINE = /^- \[(user|feedback|project|reference)\] \S/
const UNTRUSTED = '(untrusted)'
const TAIL_UNITS = 8_192

export type Added = { refused: string } | { lines: string[] }

export function linesAdded(log: Log, content: string | null, cited: readonly Spoken[], voices: Voices): Added {
  if (content === null) return { refused: `${log.file} is a log: what it holds stays as it is` }
  const held = new Set(linesOf(log.text))
  const goesOn = log.text !== '' && content.startsWith(log.text)
  const fresh = linesOf(goesOn ? content.slice(log.text.length) : content)
  const again = goesOn ? undefined : fresh.find((line) => held.has(line))
  if (again !== undefined)
    return { refused: `${log.file} holds ${JSON.stringify(again)} already; write only the lines that are new` }
  const lines: string[] = []
  for (const line of fresh) {
    const ruled = judged(line, cited, voices)
    if ('refused' in ruled) return ruled
    if (!held.has(ruled.line) && !log.added.includes(ruled.line)) lines.push(ruled.line)
  }
  return { lines }
}

function judged(line: string, cited: readonly Spoken[], voices: Voices): { refused: string } | { line: string } {
  const type = LINE.exec(line)?.[1] as 'user' | undefined
  if (!type || /[\p{Cc}\u2028\u2029]/u.test(line) || tooLong(line))
    return {
      refused: `a line of a log reads "- [type] what is to be remembered", not ${JSON.stringify(line.slice(0, 200))}`,
    }
  const text = line.slice(line.indexOf(']') + 1)
  const ruling = ruleLine(type, text.replace(UNTRUSTED, ''), cited, voices)
  if ('refused' in ruling) return ruling
  const dated = datedText('', line, cited)
  const days = relativeDaysIn('', dated)
  if (days.length > 0) return { refused: `${days.join(', ')}: name the day itself, as in 2026-03-31` }
  return { line: ruling.trust === 'untrusted' && !dated.endsWith(UNTRUSTED) ? `${dated} ${UNTRUSTED}` : dated }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
}

export function withLines(text: string, lines: readonly string[]): string {
  const start = text === '' || text.endsWith('\n') ? text : `${text}\n`
  return `${start}${lines.map((line) => `${line}\n`).join('')}`
}

/** Escaped, so that nothing in it closes the tag around it. */
export function shownTail(text: string): string {
  const tail = text.length <= TAIL_UNITS ? text : `…${text.slice(text.indexOf('\n', text.length - TAIL_UNITS))}`
  return tail.replace(/<(?=\s*\/?\s*log\b)/gi, '&lt;')
}

/** Longer lines are refused: dates are not searched for in them. */
export const CAP_LINE_UNITS = 20_000

/** `isOpen`: a date may continue on the next line. */
type Piece = { lines: string[]; isOpen: boolean }

export function datedText(before: string, content: string, cited: readonly Spoken[]): string {
  const known = linesOfDating(before)
  return piecesOf(content)
    .flatMap(({ lines, isOpen }) =>
      stretches(lines, known).map(({ isFresh, lines: some }) => {
        if (!isFresh) return some.join('\n')
        const apart = some.flatMap((line) => relativeDatesIn(seen(line)))
        const isBroken = isOpen && relativeDatesIn(flat(some)).join('\n') !== apart.join('\n')
        return isBroken ? datedLine(flat(some), cited) : some.map((line) => datedLine(line, cited)).join('\n')
      }),
    )
    .join('\n')
}

function stretches(lines: readonly string[], known: ReadonlySet<string>): { isFresh: boolean; lines: string[] }[] {
  const found: { isFresh: boolean; lines: string[] }[] = []
  for (const line of lines) {
    const isFresh = !known.has(line.trim())
    const last = found.at(-1)
    if (last?.isFresh === isFresh) last.lines.push(line)
    else found.push({ isFresh, lines: [line] })
  }
  return found
}

function datedLine(line: string, cited: readonly Spoken[]): string {
  const said = relativeDatesIn(line).length < relativeDatesIn(seen(line)).length ? seen(line) : line
  const at = saidAt(said, cited)
  return at === undefined ? line : absoluteDates(said, at).text
}

export function relativeDaysIn(before: string, content: string): string[] {
  const known = linesOfDating(before)
  return piecesOf(content)
    .flatMap(({ lines }) => stretches(lines, known))
    .flatMap(({ isFresh, lines }) => (isFresh ? relativeDatesIn(flat(lines)) : []))
}

export function tooLong(content: string): boolean {
  return content.split('\n').some((line) => line.length > CAP_LINE_UNITS)
}

function linesOfDating(text: string): Set<string> {
  return new Set(text.split('\n').map((line) => line.trim()))
}

function flat(lines: readonly string[]): string {
  return seen(lines.map((line) => line.trim()).join(' '))
}

function seen(line: string): string {
  const plain = plainText(line)
  const start = /^\s*/.exec(plain)?.[0] ?? ''
  return start + plain.slice(start.length).replace(/\s+/g, ' ')
}

/** Paragraphs; an item, a heading and a line of the front matter begin a new one. */
function piecesOf(content: string): Piece[] {
  const pieces: Piece[] = []
  const lines = content.split('\n')
  const end = /^\uFEFF?---/.test(content) ? lines.findIndex((line, n) => n > 0 && /^---\s*$/.test(line)) : -1
  for (const [n, line] of lines.entries()) {
    const last = pieces.at(-1)
    const isField = n <= end && /^\S/.test(line)
    const goesOn = last && line.trim() !== '' && !/^\s*(?:[-*+>|#]|\d+[.)]\s|```|~~~|\*\*)/.test(line)
    if (goesOn && !isField && last.lines.at(-1)?.trim() !== '' && n !== end + 1) last.lines.push(line)
    else pieces.push({ lines: [line], isOpen: n > end })
  }
  return pieces
}

/** Relative to the message that names the date, or else to the last one of the person. */
function saidAt(line: string, cited: readonly Spoken[]): string | undefined {
  const days = relativeDatesIn(line).map((day) => day.toLowerCase())
  if (days.length === 0) return undefined
  const theirs = cited.filter(({ by }) => by === 'person')
  const among = theirs.length > 0 ? theirs : cited
  const said = among.find(({ text }) => days.some((day) => text.toLowerCase().includes(day)))
  const by = said ?? among.at(-1)
  return by && localStamp(by.at, by.minutesEast)
}
