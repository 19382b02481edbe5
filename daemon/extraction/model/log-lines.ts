/**
 * What a model adds to the log of a day: lines, of which each says for itself what it is. What the log holds stays as it
 * is, whether the model writes it again or only what is new.
 */
import { datedText, relativeDaysIn, tooLong } from './dating.ts'
import { ruleLine } from './provenance.ts'
import type { Spoken, Voices } from './voices.ts'

type Log = {
  file: string
  /** What it holds. */
  text: string
  /** What was accepted in this run so far. */
  added: readonly string[]
}

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

/** Its end, fenced: whatever it says cannot pass for anything else. */
export function shownTail(text: string): string {
  const tail = text.length <= TAIL_UNITS ? text : `…${text.slice(text.indexOf('\n', text.length - TAIL_UNITS))}`
  return tail.replace(/<(?=\s*\/?\s*log\b)/gi, '&lt;')
}
