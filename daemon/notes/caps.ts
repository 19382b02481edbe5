/** How long notes may be: which sections are too long, and notes as they are used, cut at the ends of lines. Pure. */
import { tokensIn } from '../platform/tokens.ts'
import { bodiesOf } from './guard.ts'
import { joined, type Template } from './template.ts'

export const CAP_SECTION_TOKENS = 2_000
export const CAP_NOTES_TOKENS = 12_000
/** A model that does not listen must not fill the disk: from here on the file itself is cut. */
const CAP_KEPT_TOKENS = 4 * CAP_SECTION_TOKENS

const CUT = '[… the rest is left out: this section is too long …]'

type Long = { title: string; tokens: number }

/** What the next directive has to name. */
export function tooLong(template: Template, text: string): { sections: Long[]; whole: number | undefined } {
  const bodies = bodiesOf(template, text)
  const sections = template.flatMap(({ title }, n) => {
    const tokens = tokensIn(sectionText(template, bodies, n))
    return tokens > CAP_SECTION_TOKENS ? [{ title, tokens }] : []
  })
  const whole = tokensIn(joined(template, bodies))
  return { sections, whole: whole > CAP_NOTES_TOKENS ? whole : undefined }
}

/** As they are used. */
export function cappedNotes(template: Template, text: string): string {
  return cutTo(template, text, CAP_SECTION_TOKENS, CAP_NOTES_TOKENS)
}

/** As they are kept. */
export function keptNotes(template: Template, text: string): string {
  return cutTo(template, text, CAP_KEPT_TOKENS, Number.POSITIVE_INFINITY)
}

function cutTo(template: Template, text: string, capSection: number, capAll: number): string {
  const bodies = bodiesOf(template, text)
  const sizes = template.map((_, n) => tokensIn(sectionText(template, bodies, n)))
  const cap = fairCap(sizes, capSection, capAll)
  return joined(
    template,
    bodies.map((body, n) => {
      if ((sizes[n] ?? 0) <= cap) return body
      const room = cap - tokensIn(sectionText(template, [], n)) - 1
      return cutBody(body, room)
    }),
  )
}

/** The same for all: those that are short stay whole, and what is long gives. */
function fairCap(sizes: readonly number[], capSection: number, capAll: number): number {
  let rest = capAll
  let left = sizes.length
  for (const size of sizes.toSorted((a, b) => a - b)) {
    const share = Math.floor(rest / left)
    if (size > share) return Math.min(capSection, share)
    rest -= size
    left--
  }
  return capSection
}

function sectionText(template: Template, bodies: readonly string[], n: number): string {
  const section = template[n]
  return section ? `${joined([section], [bodies[n] ?? ''])}\n` : ''
}

function cutBody(body: string, roomTokens: number): string {
  const room = roomTokens * 4 - Buffer.byteLength(CUT) - 8
  if (room <= 0) return ''
  const lines: string[] = []
  let bytes = 0
  let fence: string | undefined
  for (const line of body.split('\n')) {
    bytes += Buffer.byteLength(line) + 1
    if (bytes > room) {
      // One line alone may be too long: then there is no end of a line to cut at.
      if (lines.length === 0) lines.push(`${headOf(line, room)}…`)
      break
    }
    lines.push(line)
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined) fence = fence === undefined ? mark : mark.startsWith(fence) ? undefined : fence
  }
  return [...lines, ...(fence === undefined ? [] : [fence.slice(0, 3)]), CUT].join('\n')
}

function headOf(line: string, bytes: number): string {
  return Buffer.from(line)
    .subarray(0, bytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
}
