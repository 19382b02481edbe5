/** Makes relative dates absolute. chrono-node 2.10.3 got over a third of the test's forms wrong ("the 15th", 月底). Pure. */
import { chinese } from './chinese-dates.ts'
import { type Form, iso, localDay } from './date-form.ts'
import { english } from './english-dates.ts'

const forms: readonly Form[] = [...english, ...chinese]

export const datePatterns: readonly RegExp[] = forms.map(({ pattern }) => pattern)

type Found = { at: number; match: RegExpExecArray; form: Form }

/** Most sentences have none of these, so no form has to be tried. */
const ANY =
  /\d|day|week|month|quarter|year|tonight|yesterday|tomorrow|tmr|morning|afternoon|evening|night|eo[dmqwy]|cob|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|[周月天日号季年期拜今明昨晚]/i

const CAP_UNITS = 20_000

export function absoluteDates(text: string, atIso: string): { text: string; changes: { from: string; to: string }[] } {
  const found = find(text)
  const today = found.length > 0 ? localDay(atIso) : undefined
  if (today === undefined) return { text, changes: [] }
  const changes: { from: string; to: string }[] = []
  const parts: string[] = []
  let from = 0
  let before: number | undefined
  for (const { at, match, form } of found) {
    const said = form.says(match, { today, before, past: isPast(text, at, match[0].length) })
    if (said === undefined) continue
    const { day, text: to } = typeof said === 'number' ? { day: said, text: iso(said) } : said
    before = day
    changes.push({ from: match[0], to })
    // Chinese has no space before a date: digits would run into other digits.
    const gap = /[\p{Script=Han}\w]$/u.test(text.slice(from, at)) ? ' ' : ''
    const after = /[\d)]$/.test(to) && /^[\p{Script=Han}\w]/u.test(text.slice(at + match[0].length)) ? ' ' : ''
    parts.push(text.slice(from, at), gap, to, after)
    from = at + match[0].length
  }
  return { text: parts.join('') + text.slice(from), changes }
}

export function relativeDatesIn(text: string): string[] {
  // Whether words are a date does not depend on the day.
  return absoluteDates(text, '2026-01-01').changes.map(({ from }) => from)
}

/** Where two overlap, the one that starts first wins, then the longer, then the earlier form. */
function find(text: string): Found[] {
  if (!ANY.test(text)) return []
  const looked = text.length > CAP_UNITS ? text.slice(0, CAP_UNITS) : text
  const found: Found[] = []
  let end = 0
  let waiting = forms.flatMap((form) => next(form, looked, end))
  while (waiting.length > 0) {
    const [first, ...others] = waiting.sort((a, b) => a.at - b.at || b.match[0].length - a.match[0].length)
    if (!first) break
    found.push(first)
    end = first.at + first.match[0].length
    // A form whose match began inside this one may match again right after it.
    waiting = [...others, first].flatMap((each) => (each.at < end ? next(each.form, looked, end) : [each]))
  }
  return found
}

function next(form: Form, text: string, from: number): Found[] {
  form.pattern.lastIndex = from
  const match = form.pattern.exec(text)
  return match ? [{ at: match.index, match, form }] : []
}

const AHEAD =
  /\b(?:by|until|till|before|starting|from|due|through|to|for|will|gonna|going|deadline|next|must|should|has to|have to|can't|is|are|goes|go|starts?|ends?|begins?|cuts?|ships?|launches|lands?|needs?|expires|'s|'ll|'re)\s*(?:the |on |at |eod )?$/i
const OVER =
  /\b(?:was|were|had|did|been|lost|broke|went|got|came|happened|blew|took|found|saw|made|sent|left|ran|began|fell|hit|since|ago|(?!need|feed|speed|seed|embed|exceed|proceed|based|deed)[a-z]{2,}ed)\b/i
const STILL_AHEAD =
  /\b(?:will|is|are|gonna|going to|goes|go|starts|ends|takes|gets|cuts|ships|moves|lands|expires|sunsets|runs|closes|opens|leaves)\b/i
/** "was planned for" speaks of the future. */
const MEANT =
  /\b(?:agreed|decided|planned|promised|supposed|scheduled|asked|wanted|needed|meant|expected|committed|told) (?:\w+ )?(?:to|for|that)\b/i
/** "is paused" is not past. */
const NOW_SO = /\b(?:is|are|be|gets?|'s|'re) (?:\w+ )?[a-z]+ed\b/gi
const OVER_CHINESE = /了|已经?|刚|过|上次|当时|发生/

/** A dot inside a version or a host ends no clause. */
const CLAUSE_END = /[.!?;,:](?=\s)|[，。；！？：\n(]/

/** Weekdays and days of a month look back if their clause speaks of the past. */
function isPast(text: string, at: number, length: number): boolean {
  const head = text.slice(Math.max(0, at - 160), at)
  const lead = head.split(CLAUSE_END).at(-1) ?? ''
  const tail = /^[^.!?;,，。；！？\n:：)]{0,80}/.exec(text.slice(at + length))?.[0] ?? ''
  if (/\p{Script=Han}/u.test(lead + tail) && OVER_CHINESE.test(lead + tail) && !/[前要会将]/.test(tail)) return true
  const nearby = lead.replace(/\bon\s*$/i, '')
  if (/\bsince\s*$/i.test(nearby)) return true
  if (AHEAD.test(nearby) || /\b(?:until|till|will|before)\b/i.test(nearby)) return false
  if (OVER.test(nearby.replace(NOW_SO, ''))) return !MEANT.test(nearby)
  const rest = tail.split(/\b(?:and|so|but|then)\b/i, 1)[0] ?? ''
  return OVER.test(rest) && !STILL_AHEAD.test(rest) && !STILL_AHEAD.test(nearby)
}
