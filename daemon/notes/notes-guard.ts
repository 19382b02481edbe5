/** How long notes may be, and how their structure is kept. Pure. */
import { headOfBytes, tokensIn } from '../platform/text.ts'
import { FENCE, fenceAfter, ITALIC, joined, lined, openFence, type Template, titleKey } from './template.ts'

export const CAP_SECTION_TOKENS = 2_000
export const CAP_NOTES_TOKENS = 12_000
/** A model that ignores the caps must not fill the disk: here the file itself is cut. */
const CAP_KEPT_TOKENS = 4 * CAP_SECTION_TOKENS

const CUT = '[… the rest is left out: this section is too long …]'

export function tooLong(template: Template, text: string) {
  const bodies = bodiesOf(template, text)
  const sections = template.flatMap(({ title }, n) => {
    const tokens = tokensIn(sectionText(template, bodies, n))
    return tokens > CAP_SECTION_TOKENS ? [{ title, tokens }] : []
  })
  const whole = tokensIn(joined(template, bodies))
  return { sections, whole: whole > CAP_NOTES_TOKENS ? whole : undefined }
}

export function cappedNotes(template: Template, text: string): string {
  return cutTo(template, text, CAP_SECTION_TOKENS, CAP_NOTES_TOKENS)
}

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
  for (const line of body.split('\n')) {
    bytes += Buffer.byteLength(line) + 1
    if (bytes > room) {
      // The first line alone may be too long.
      if (lines.length === 0) lines.push(`${headOfBytes(line, room)}…`)
      break
    }
    lines.push(line)
  }
  const fence = openFence(lines)
  return [...lines, ...(fence === undefined ? [] : [fence.slice(0, 3)]), CUT].join('\n')
}

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/
/** Tags that mean something where notes are shown to a model, or on the way there. */
const MARKS = /<(?=\s*\/?\s*(?:current-notes|private)\b)/gi

/** Whatever an edit did, headings of the template come out once, in order. Loses only words of headings. Linear. */
export function bodiesOf(template: Template, text: string): string[] {
  const lines = lined(text)
  const known = knownIn(template)
  const isFenced = fencedIn(lines, (at) => known.pairAt(lines, at) !== undefined)
  const seen = marksIn(lines, isFenced, known)
  const bodies: string[][] = template.map(() => [])
  const renamed = new Set<number>()
  let current = 0
  let isAfterHeading = false
  const say = (line: string) => bodies[current]?.push(line)

  for (const [at, line] of lines.entries()) {
    const pair = known.pairAt(lines, at)
    const heading = pair === undefined && isFenced[at] ? undefined : headingIn(line)
    const about = isFenced[at] && !known.isAboutOfPair(lines, at) ? undefined : known.about(line)
    const isFirst = isAfterHeading
    if (line.trim() !== '') isAfterHeading = false
    if (heading) {
      const section = pair ?? known.section(heading.title)
      const isOurs = section !== undefined && (heading.level === 1 || !seen.headings.has(section))
      if (isOurs) current = section
      else if (heading.level > 1) say(line)
      else {
        const next = known.about(nextLine(lines, at))
        const meant = next ?? renamedTo(current, seen.all, renamed, template.length)
        if (meant !== undefined) {
          current = meant
          renamed.add(meant)
        }
        if (next === undefined && !isLike(heading.title, template[current]?.title ?? '')) say(`## ${heading.title}`)
      }
      isAfterHeading = isOurs || heading.level === 1
    } else if (about !== undefined) {
      // The heading was deleted, its line in italics is left.
      if (!seen.headings.has(about)) current = about
    } else if (isFirst && !isFenced[at] && ITALIC.test(line.trim()) && !seen.abouts.has(current)) {
      // The line in italics was reworded: the template's own is used.
    } else say(line)
  }
  return bodies.map((body) => sealed(body, known))
}

type Known = ReturnType<typeof knownIn>

function knownIn(template: Template) {
  const titles = new Map(template.map(({ title }, n) => [titleKey(title), n]))
  const abouts = new Map(template.flatMap(({ about }, n) => (about === '' ? [] : [[about, n] as const])))
  const headings = new Map(template.map(({ heading }, n) => [heading, n]))
  const pairAt = (lines: readonly string[], at: number): number | undefined => {
    const section = headings.get(lines[at]?.trimEnd() ?? '')
    if (section === undefined) return undefined
    return abouts.get(nextLine(lines, at).trim()) === section ? section : undefined
  }
  return {
    /** A heading directly above its line in italics counts even within a fence: fences are left open by mistake. */
    pairAt,
    isAboutOfPair: (lines: readonly string[], at: number) => {
      if (!abouts.has(lines[at]?.trim() ?? '')) return false
      let before = at - 1
      while (before >= 0 && lines[before]?.trim() === '') before--
      return pairAt(lines, before) !== undefined
    },
    section: (title: string) => titles.get(titleKey(title)),
    about: (line: string) => abouts.get(line.trim()),
    isFixed: (line: string) => headings.has(line.trimEnd()) || abouts.has(line.trimEnd()),
  }
}

/** Per line. A fence that is not closed before the next section is none. */
function fencedIn(lines: readonly string[], isSection: (at: number) => boolean): boolean[] {
  // For each line the longest mark that could close a fence from there to the end of its section.
  const closing: Record<string, number>[] = []
  let longest: Record<string, number> = {}
  for (let at = lines.length - 1; at >= 0; at--) {
    closing[at] = longest
    const [, mark = '', rest = ''] = FENCE.exec(lines[at] as string) ?? []
    if (mark !== '' && rest.trim() === '') {
      const char = mark[0] as string
      longest = { ...longest, [char]: Math.max(longest[char] ?? 0, mark.length) }
    }
    if (isSection(at)) longest = {}
  }
  const fenced: boolean[] = []
  let open: string | undefined
  for (let at = 0; at < lines.length; at++) {
    const after = fenceAfter(lines[at] as string, open)
    const isUnclosed = open === undefined && after !== undefined && (closing[at]?.[after[0] ?? ''] ?? 0) < after.length
    fenced[at] = open !== undefined || (after !== undefined && !isUnclosed)
    open = isUnclosed ? undefined : after
  }
  return fenced
}

function marksIn(lines: readonly string[], isFenced: readonly boolean[], known: Known) {
  const headings = new Set<number>()
  const abouts = new Set<number>()
  const lower = new Set<number>()
  for (const [at, line] of lines.entries()) {
    const pair = known.pairAt(lines, at)
    if (pair !== undefined) headings.add(pair)
    if (isFenced[at] && !known.isAboutOfPair(lines, at)) continue
    const heading = headingIn(line)
    const section = heading && known.section(heading.title)
    if (section !== undefined) (heading?.level === 1 ? headings : lower).add(section)
    const about = known.about(line)
    if (about !== undefined) abouts.add(about)
  }
  return { headings, abouts, all: new Set([...headings, ...abouts, ...lower]) }
}

function headingIn(line: string): { level: number; title: string } | undefined {
  const [, marks = '', title = ''] = HEADING.exec(line) ?? []
  return marks === '' || title === '' ? undefined : { level: marks.length, title }
}

function nextLine(lines: readonly string[], at: number): string {
  for (let next = at + 1; next < lines.length; next++) if (lines[next]?.trim() !== '') return lines[next] ?? ''
  return ''
}

/** An unknown heading where the next section of the template is missing is a renamed one. */
function renamedTo(current: number, left: ReadonlySet<number>, taken: ReadonlySet<number>, sections: number) {
  const isFree = (n: number) => n < sections && !left.has(n) && !taken.has(n)
  if (current === 0 && isFree(0)) return 0
  return isFree(current + 1) ? current + 1 : undefined
}

function isLike(one: string, other: string): boolean {
  const [a, b] = [titleKey(one), titleKey(other)]
  return a !== '' && b !== '' && (a.includes(b) || b.includes(a))
}

/** Nothing in a body can be taken for structure, by a program or by a markdown renderer. */
function sealed(lines: readonly string[], known: Known): string {
  const body = trimmed(lines).map((line) => line.replace(MARKS, '&lt;'))
  const end = openFence(body)
  const whole = end === undefined ? body : [...body, end]
  const isFenced = fencedIn(whole, () => false)
  return whole
    .map((line, at) => {
      if (isFenced[at]) return known.isFixed(line) ? ` ${line}` : line
      return headingIn(line)?.level === 1 || known.about(line) !== undefined ? `\\${line.trimStart()}` : line
    })
    .join('\n')
}

function trimmed(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== '')
  if (first < 0) return []
  return lines.slice(first, lines.findLastIndex((line) => line.trim() !== '') + 1)
}
