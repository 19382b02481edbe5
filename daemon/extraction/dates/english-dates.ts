/** The words of English dates: days, months, numbers, and how far away they say something is. */
import {
  addMonths,
  addWorkingDays,
  type Context,
  dayIn,
  dayOf,
  dayOfMonth,
  dayOfMonthAway,
  type Form,
  inWeek,
  iso,
  isoMonth,
  monthAlone,
  monthAndDay,
  monthEnd,
  monthStart,
  nearest,
  partsOf,
  plain,
  quarterEnd,
  quarterOf,
  quarterSpan,
  quarterStart,
  type Weekday,
  weekStart,
} from './date-form.ts'

const DAYS = 'mon|tue|wed|thu|fri|sat|sun'
export const LONG_DAY = '(monday|tuesday|wednesday|thursday|friday|saturday|sunday)'
export const ANY_DAY = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|thu|fri|sat|sun)`
const MONTHS = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
export const MONTH =
  '(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\\.?'
export const NUMBER =
  '(\\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|thirty|sixty|ninety|a couple of|a few)'
/** A word that is part of an identifier, a path or a call is no date. */
const START = '(?<![\\w./`#$@-])'
const END = '(?![\\w`(/-]|\\.\\w)'

const WORDS: Record<string, number> = { a: 1, an: 1, 'a couple of': 2, fourteen: 14, thirty: 30, sixty: 60, ninety: 90 }
const COUNTED = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
for (const [number, word] of COUNTED.entries()) WORDS[word] = number

export const form = (source: string, says: Form['says']): Form => ({
  pattern: new RegExp(`${START}(?:${source})${END}`, 'gi'),
  says,
})
export const weekdayOf = (word: string) => DAYS.split('|').indexOf(word.slice(0, 3).toLowerCase()) as Weekday
export const monthOf = (word: string) => MONTHS.split('|').indexOf(word.slice(0, 3).toLowerCase()) + 1
/** "a few" is no number. */
export const numberOf = (word: string) => WORDS[word.toLowerCase()] ?? (/^\d+$/.test(word) ? Number(word) : undefined)

export function away(count: string, unit: string, from: number, sign: 1 | -1): number | undefined {
  const number = numberOf(count)
  if (number === undefined) return undefined
  if (/^(business|working|work) day/i.test(unit)) return sign === 1 ? addWorkingDays(from, number) : undefined
  if (/^day/i.test(unit)) return from + sign * number
  if (/^week/i.test(unit)) return from + sign * number * 7
  if (/^fortnight/i.test(unit)) return from + sign * number * 14
  return addMonths(from, sign * number * (/^quarter/i.test(unit) ? 3 : /^year/i.test(unit) ? 12 : 1))
}

export const UNIT = '((?:business |working |work )?days?|weeks?|fortnights?|months?|quarters?|years?)'
export const told = (day: number | undefined, words = '') =>
  day === undefined ? undefined : { text: `${words}${iso(day)}`, day }

export function ends(which: string | undefined, unit: string, today: number): number | undefined {
  const next = /next/i.test(which ?? '') ? 1 : 0
  if (/^day/i.test(unit)) return today
  if (/^week/i.test(unit)) return weekStart(today, next) + 4
  if (/^month/i.test(unit)) return monthEnd(today, next)
  if (/^q/i.test(unit)) return quarterEnd(quarterOf(today).year, quarterOf(today).quarter + next)
  return quarterEnd(partsOf(today).year + next, 4)
}

/** A quarter that is over this year is the next year's, unless the words look back. */
export function quarterYear(quarter: number, { today, past }: Context): number {
  const now = quarterOf(today)
  return past || quarter >= now.quarter ? now.year : now.year + 1
}

/** A year that is named by how far away it is. */
export const YEAR = '(next|last|this) year'
export const yearOf = (which: string, today: number) =>
  partsOf(today).year + (/next/i.test(which) ? 1 : /last/i.test(which) ? -1 : 0)

export const yearAfter = '(?!\\s*(?:,|of)?\\s*(?:20\\d\\d|\\())'

export function plainDate(year: number, month: number, day: number): { text: string; day: number } | undefined {
  const found = dayIn(year, month, day)
  return found === undefined ? undefined : plain(found)
}

/** Relative dates as English-speaking engineers type them. Data: a form a line; the longer before what it contains. */
export const english: readonly Form[] = [
  form(`${NUMBER} ${UNIT} from (today|tomorrow|now)`, ([, count = '', unit = '', from = ''], { today }) =>
    told(away(count, unit, today + (/^tom/i.test(from) ? 1 : 0), 1)),
  ),
  form(
    `(?:a|one) week on ${LONG_DAY}|(?<=\\b(?:on|by|until|till|before|from|due) )${LONG_DAY} week(?! \\d)`,
    (match, context) => plain(nearest(weekdayOf(match[1] ?? match[2] ?? ''), { ...context, past: false }) + 7),
  ),
  form(`${NUMBER} weeks? (?:from|after) ${LONG_DAY}`, ([, count = '', day = ''], context) =>
    told(away(count, 'weeks', nearest(weekdayOf(day), { ...context, past: false }), 1)),
  ),
  form(
    `(on )?${LONG_DAY} in ${NUMBER} weeks?(?:' time)?|in ${NUMBER} weeks?(?:' time)?,? on ${LONG_DAY}`,
    ([, on, first, count, another, second], { today }) => {
      const weeks = numberOf(count ?? another ?? '')
      return weeks === undefined ? undefined : told(inWeek(weekdayOf(first ?? second ?? ''), today, weeks), on)
    },
  ),
  form(`(in|within) half a year`, ([, word = ''], { today }) =>
    told(addMonths(today, 6), /^within/i.test(word) ? 'by ' : 'on '),
  ),
  form(`${MONTH} (\\d{1,2})(?:st|nd|rd|th)?,? (?:of )?${YEAR}`, ([, month = '', day, which = ''], { today }) =>
    plainDate(yearOf(which, today), monthOf(month), Number(day)),
  ),
  form(
    `(?:the )?(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH},? (?:of )?${YEAR}`,
    ([, day, month = '', which = ''], { today }) => plainDate(yearOf(which, today), monthOf(month), Number(day)),
  ),
  form(`${YEAR},? (?:on |in )?${MONTH} (\\d{1,2})(?:st|nd|rd|th)?`, ([, which = '', month = '', day], { today }) =>
    plainDate(yearOf(which, today), monthOf(month), Number(day)),
  ),
  form(`(?:the )?end of ${MONTH},? (?:of )?${YEAR}`, ([, month = '', which = ''], { today }) =>
    plain(monthEnd(dayOf(yearOf(which, today), monthOf(month), 1), 0)),
  ),
  form(
    `(?<=\\b(?:in|by|until|till|before|since|during|early|mid|late|of|from) )${MONTH},? (?:of )?${YEAR}`,
    ([, month = '', which = ''], { today }) => {
      const year = yearOf(which, today)
      return { text: `${month} ${year}`, day: dayOf(year, monthOf(month), 1) }
    },
  ),
  form(`(?:the )?end of q([1-4]),? (?:of )?${YEAR}`, ([, quarter, which = ''], { today }) =>
    told(quarterEnd(yearOf(which, today), Number(quarter))),
  ),
  form(`q([1-4]),? (?:of )?${YEAR}`, ([, quarter, which = ''], { today }) =>
    quarterSpan(yearOf(which, today), Number(quarter)),
  ),
  form(`${LONG_DAY} (?:of )?next week|next week(?:'s)? (?:on )?${LONG_DAY}`, ([, first, second], { today }) =>
    plain(inWeek(weekdayOf(first ?? second ?? ''), today, 1)),
  ),
  form(`(?:the )?day after tomorrow`, (_, { today }) => plain(today + 2)),
  form(`(?:the )?day before yesterday`, (_, { today }) => plain(today - 2)),
  form(
    `(?:by |until |till |on )?(?:eod|cob|end of (?:the )?day|close of business)(?: on)? ${ANY_DAY}`,
    ([whole, day = ''], { today }) => {
      const ahead = (weekdayOf(day) - partsOf(today).weekday + 7) % 7
      return told(today + ahead, `${/^(?:by|until|till|on) /i.exec(whole)?.[0] ?? ''}end of day `)
    },
  ),
  form(`(?:eod|cob|end of (?:the )?day)(?: today)?(?! \\d)`, (_, { today }) => told(today, 'end of day ')),
  form(`(?:eod |cob )?(?:tomorrow|tmrw|tmr)(?:'s)?(?: (morning|afternoon|evening|night))?`, ([, part], { today }) => ({
    ...plain(today + 1),
    text: `${iso(today + 1)}${part ? ` ${part}` : ''}`,
  })),
  form(`yesterday(?:'s)?(?: (morning|afternoon|evening))?`, ([, part], { today }) => ({
    ...plain(today - 1),
    text: `${iso(today - 1)}${part ? ` ${part}` : ''}`,
  })),
  form(`(this|next|last|over the) weekend(?:'s)?`, ([, which = ''], { today, past }) => {
    const weeks = { next: 1, last: -1 }[which.toLowerCase()] ?? (past ? -1 : 0)
    return told(weekStart(today, weeks) + 5, 'the weekend of ')
  }),
  form(`last night(?:'s)?`, (_, { today }) => told(today - 1, 'the night of ')),
  form(`(?:today|tonight)(?:'s)?|this (?:morning|afternoon|evening)(?:'s)?`, (_, { today }) => plain(today)),
  form(`(?:by |before |at |until |till )?(?:the )?(?:eom|eoq|eow|eoy)`, ([whole], { today }) => {
    const unit = { m: 'month', q: 'quarter', w: 'week', y: 'year' }[whole.at(-1)?.toLowerCase() ?? ''] ?? 'month'
    return told(ends('', unit, today), /^(?:by|before|at|until|till) /i.exec(whole)?.[0] ?? '')
  }),
  form(
    `(?:the )?end of (?:the )?(next |this |current )?(week|month|quarter|year)(?:'s)?`,
    ([, which, unit = ''], context) => told(ends(which, unit, context.today)),
  ),
  form(`(?:the )?(?:month|year|quarter|week)[ -]end${'(?!ing)'}`, ([whole], { today }) =>
    told(ends('', whole.replace(/^the /i, ''), today)),
  ),
  form(`(?:the )?end of ${MONTH}${yearAfter}`, ([, word = ''], context) => {
    const { year, month } = monthAlone(monthOf(word), context)
    return plain(monthEnd(dayOf(year, month, 1), 0))
  }),
  form(`(?:the )?end of q([1-4])${yearAfter}`, ([, quarter], context) =>
    told(quarterEnd(quarterYear(Number(quarter), context), Number(quarter))),
  ),
  form(`(?:the )?(?:start|beginning) of (?:the )?next (week|month|quarter|year)`, ([, unit = ''], { today }) => {
    const { year, quarter } = quarterOf(today)
    if (unit === 'week') return plain(weekStart(today, 1))
    if (unit === 'month') return plain(monthStart(today, 1))
    return plain(unit === 'quarter' ? quarterStart(year, quarter + 1) : quarterStart(year + 1, 1))
  }),
  form(`q([1-4])${yearAfter}`, ([, quarter], context) =>
    quarterSpan(quarterYear(Number(quarter), context), Number(quarter)),
  ),
  form(`(this|next|last) quarter(?:'s)?`, ([, which = ''], { today }) => {
    const now = quarterOf(today)
    const start = quarterStart(now.year, now.quarter + (/next/i.test(which) ? 1 : /last/i.test(which) ? -1 : 0))
    const { year, quarter } = quarterOf(start)
    return quarterSpan(year, quarter)
  }),
  form(`(?:the )?week after next`, (_, { today }) => told(weekStart(today, 2), 'the week of ')),
  form(`(?:the )?${LONG_DAY} after next`, ([, day = ''], context) =>
    plain(nearest(weekdayOf(day), { ...context, past: false }) + 7),
  ),
  form(`the (?:following ${LONG_DAY}|${LONG_DAY} after(?: that)?)`, ([, first, second], context) =>
    plain(
      nearest(weekdayOf(first ?? second ?? ''), { ...context, today: context.before ?? context.today, past: false }),
    ),
  ),
  form(`(?:on )?next ${ANY_DAY}(?:'s)?`, ([, day = ''], { today }) => plain(inWeek(weekdayOf(day), today, 1))),
  form(`(?:on )?last ${ANY_DAY}(?:'s)?`, ([, day = ''], context) =>
    plain(nearest(weekdayOf(day), { ...context, past: true })),
  ),
  form(`(?:on )?this (?:coming )?${ANY_DAY}(?:'s)?`, ([, day = ''], { today }) =>
    plain(inWeek(weekdayOf(day), today, 0)),
  ),
  form(`(?:the )?(?:1st|first) of (?:the )?next month`, (_, { today }) => plain(monthStart(today, 1))),
  form(`(?:the )?(\\d{1,2})(?:st|nd|rd|th) of next month`, ([, day], { today }) =>
    told(dayOfMonthAway(Number(day), today, 1)),
  ),
  form(`(next|last|this) week(?:'s)?`, ([, which = ''], { today }) =>
    told(weekStart(today, /next/i.test(which) ? 1 : /last/i.test(which) ? -1 : 0), 'the week of '),
  ),
  form(`(next|last|this) month(?:'s)?`, ([, which = ''], { today }) => {
    const months = /next/i.test(which) ? 1 : /last/i.test(which) ? -1 : 0
    return { text: isoMonth(today, months), day: monthStart(today, months) }
  }),
  form(`${YEAR}(?:'s)?`, ([, which = ''], { today }) => {
    const year = yearOf(which, today)
    return { text: String(year), day: quarterStart(year, 1) }
  }),
  form(`(?:in|within) (?:the next )?${NUMBER} ${UNIT}(?:' time)?`, ([whole, count = '', unit = ''], { today }) =>
    told(away(count, unit, today, 1), /^within/i.test(whole) ? 'by ' : 'on '),
  ),
  form(`for (?:the )?next ${NUMBER} ${UNIT}`, ([, count = '', unit = ''], { today }) =>
    told(away(count, unit, today, 1), 'until '),
  ),
  form(`${NUMBER} ${UNIT} ago`, ([, count = '', unit = ''], { today }) => told(away(count, unit, today, -1))),
  form(
    `(?:${LONG_DAY},? )?${MONTH} (\\d{1,2})(?:st|nd|rd|th)?(?:,? (20\\d\\d))?(?! ?(?:%|ms|:|am\\b|pm\\b))`,
    (match, context) => {
      const [, , month = '', day, year] = match
      if (year) return plainDate(Number(year), monthOf(month), Number(day))
      return told(monthAndDay(monthOf(month), Number(day), context))
    },
  ),
  form(
    `(?:the )?(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH}(?:,? (20\\d\\d))?`,
    ([, day, month = '', year], context) => {
      if (year) return plainDate(Number(year), monthOf(month), Number(day))
      return told(monthAndDay(monthOf(month), Number(day), context))
    },
  ),
  form(
    `(?<=\\b(?:in|by|until|till|before|since|during|early|mid|mid-|late|end of|start of|from) ?-?)${MONTH}${yearAfter}(?! \\d)`,
    (match, context) => {
      const { year, month } = monthAlone(monthOf(match[1] ?? ''), context)
      return { text: `${match[1]} ${year}`, day: quarterStart(year, 1) + (month - 1) * 30 }
    },
  ),
  form(
    `(?:${ANY_DAY},? )?the (\\d{1,2})(?:st|nd|rd|th)(?! (?!and\\b|at\\b|or\\b|for\\b|so\\b|because\\b|bc\\b|since\\b|then\\b|we\\b|i\\b|the\\b|is\\b|when\\b|after\\b|before\\b|until\\b|but\\b|with\\b|to\\b)[a-z])`,
    ([, , day], context) => told(dayOfMonth(Number(day), context)),
  ),
  form(
    `(?<!\\b(?:every|each|any|most|per) )(on )?${LONG_DAY}(?:'s)?(?: (morning|afternoon|evening|night|noon))?`,
    ([, on = '', day = '', part], context) => {
      const found = nearest(weekdayOf(day), context)
      return { text: `${on}${iso(found)}${part ? ` ${part}` : ''}`, day: found }
    },
  ),
  form(`(?<=\\b(?:on|by|until|till|before|from|since|due) )${ANY_DAY}`, ([, day = ''], context) =>
    plain(nearest(weekdayOf(day), context)),
  ),
]
