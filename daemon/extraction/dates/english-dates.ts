/** Relative dates in English. Longer forms stand before those they contain. */
import type { Context, Form } from './date-form.ts'
import * as calendar from './date-form.ts'

const DAYS = 'mon|tue|wed|thu|fri|sat|sun'
const LONG_DAY = '(monday|tuesday|wednesday|thursday|friday|saturday|sunday)'
const ANY_DAY = `(monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|thu|fri|sat|sun)`
const MONTHS = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
const MONTH =
  '(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\\.?'
const NUMBER =
  '(\\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|thirty|sixty|ninety|a couple of|a few)'
const UNIT = '((?:business |working |work )?days?|weeks?|fortnights?|months?|quarters?|years?)'
const YEAR = '(next|last|this) year'
const NO_YEAR_AFTER = '(?!\\s*(?:,|of)?\\s*(?:20\\d\\d|\\())'
/** A word inside an identifier, a path or a call is no date. */
const START = '(?<![\\w./`#$@-])'
const END = '(?![\\w`(/-]|\\.\\w)'

const WORDS: Record<string, number> = { a: 1, an: 1, 'a couple of': 2, fourteen: 14, thirty: 30, sixty: 60, ninety: 90 }
const COUNTED = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
for (const [number, word] of COUNTED.entries()) WORDS[word] = number

const form = (source: string, says: Form['says']): Form => ({
  pattern: new RegExp(`${START}(?:${source})${END}`, 'gi'),
  says,
})
const weekdayOf = (word = '') => DAYS.split('|').indexOf(word.slice(0, 3).toLowerCase())
const monthOf = (word = '') => MONTHS.split('|').indexOf(word.slice(0, 3).toLowerCase()) + 1
const stepOf = (which = '') => (/next/i.test(which) ? 1 : /last/i.test(which) ? -1 : 0)
const yearOf = (which: string | undefined, today: number) => calendar.partsOf(today).year + stepOf(which)
const coming = (day: string | undefined, context: Context) =>
  calendar.nearest(weekdayOf(day), { ...context, past: false })
const leadOf = (whole: string) => /^(?:by|before|at|on|until|till) /i.exec(whole)?.[0] ?? ''

/** "a few" is no number. */
function away(count = '', unit = '', from: number, sign: 1 | -1 = 1): number | undefined {
  const number = WORDS[count.toLowerCase()] ?? (/^\d+$/.test(count) ? Number(count) : undefined)
  if (number === undefined) return undefined
  if (/^(business|working|work) day/i.test(unit)) return sign === 1 ? calendar.addWorkingDays(from, number) : undefined
  if (/^day/i.test(unit)) return from + sign * number
  if (/^week/i.test(unit)) return from + sign * number * 7
  if (/^fortnight/i.test(unit)) return from + sign * number * 14
  return calendar.addMonths(from, sign * number * (/^quarter/i.test(unit) ? 3 : /^year/i.test(unit) ? 12 : 1))
}

function endOf(unit: string, today: number, which?: string): number {
  const next = stepOf(which)
  const { year, quarter } = calendar.quarterOf(today)
  if (/^w/i.test(unit)) return calendar.weekStart(today, next) + 4
  if (/^m/i.test(unit)) return calendar.monthEnd(today, next)
  return /^q/i.test(unit) ? calendar.quarterEnd(year, quarter + next) : calendar.quarterEnd(year + next, 4)
}

function dayWithYear(month: string | undefined, day: string | undefined, year: string | undefined, context: Context) {
  if (year) return calendar.dayIn(Number(year), monthOf(month), Number(day))
  return calendar.monthAndDay(monthOf(month), Number(day), context)
}

function withPart(day: number, part = '', words = '') {
  return { text: `${words}${calendar.iso(day)} ${part}`.trimEnd(), day }
}

export const english: readonly Form[] = [
  form(`${NUMBER} ${UNIT} from (today|tomorrow|now)`, ([, count, unit, from = ''], { today }) =>
    away(count, unit, today + (/^tom/i.test(from) ? 1 : 0)),
  ),
  form(
    `(?:a|one) week on ${LONG_DAY}|(?<=\\b(?:on|by|until|till|before|from|due) )${LONG_DAY} week(?! \\d)`,
    (match, context) => coming(match[1] ?? match[2], context) + 7,
  ),
  form(`${NUMBER} weeks? (?:from|after) ${LONG_DAY}`, ([, count, day], context) =>
    away(count, 'weeks', coming(day, context)),
  ),
  form(
    `(on )?${LONG_DAY} in ${NUMBER} weeks?(?:' time)?|in ${NUMBER} weeks?(?:' time)?,? on ${LONG_DAY}`,
    ([, on, first, count, another, second], { today }) => {
      const sameDay = away(count ?? another, 'weeks', today)
      return sameDay === undefined
        ? undefined
        : calendar.worded(calendar.inWeek(weekdayOf(first ?? second), sameDay, 0), on)
    },
  ),
  form(`(in|within) half a year`, ([, word = ''], { today }) =>
    calendar.worded(calendar.addMonths(today, 6), /^within/i.test(word) ? 'by ' : 'on '),
  ),
  form(`${MONTH} (\\d{1,2})(?:st|nd|rd|th)?,? (?:of )?${YEAR}`, ([, month, day, which], { today }) =>
    calendar.dayIn(yearOf(which, today), monthOf(month), Number(day)),
  ),
  form(`(?:the )?(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH},? (?:of )?${YEAR}`, ([, day, month, which], { today }) =>
    calendar.dayIn(yearOf(which, today), monthOf(month), Number(day)),
  ),
  form(`${YEAR},? (?:on |in )?${MONTH} (\\d{1,2})(?:st|nd|rd|th)?`, ([, which, month, day], { today }) =>
    calendar.dayIn(yearOf(which, today), monthOf(month), Number(day)),
  ),
  form(`(?:the )?end of ${MONTH},? (?:of )?${YEAR}`, ([, month, which], { today }) =>
    calendar.monthEnd(calendar.dayOf(yearOf(which, today), monthOf(month), 1), 0),
  ),
  form(
    `(?<=\\b(?:in|by|until|till|before|since|during|early|mid|late|of|from) )${MONTH},? (?:of )?${YEAR}`,
    ([, month, which], { today }) => {
      const year = yearOf(which, today)
      return { text: `${month} ${year}`, day: calendar.dayOf(year, monthOf(month), 1) }
    },
  ),
  form(`(?:the )?end of q([1-4]),? (?:of )?${YEAR}`, ([, quarter, which], { today }) =>
    calendar.quarterEnd(yearOf(which, today), Number(quarter)),
  ),
  form(`q([1-4]),? (?:of )?${YEAR}`, ([, quarter, which], { today }) =>
    calendar.quarterSpan(yearOf(which, today), Number(quarter)),
  ),
  form(`${LONG_DAY} (?:of )?next week|next week(?:'s)? (?:on )?${LONG_DAY}`, ([, first, second], { today }) =>
    calendar.inWeek(weekdayOf(first ?? second), today, 1),
  ),
  form(`(?:the )?day after tomorrow`, (_, { today }) => today + 2),
  form(`(?:the )?day before yesterday`, (_, { today }) => today - 2),
  form(
    `(?:by |until |till |on )?(?:eod|cob|end of (?:the )?day|close of business)(?: on)? ${ANY_DAY}`,
    ([whole, day], { today }) => {
      const ahead = (weekdayOf(day) - calendar.partsOf(today).weekday + 7) % 7
      return calendar.worded(today + ahead, `${leadOf(whole)}end of day `)
    },
  ),
  form(`(?:eod|cob|end of (?:the )?day)(?: today)?(?! \\d)`, (_, { today }) => calendar.worded(today, 'end of day ')),
  form(`(?:eod |cob )?(?:tomorrow|tmrw|tmr)(?:'s)?(?: (morning|afternoon|evening|night))?`, ([, part], { today }) =>
    withPart(today + 1, part),
  ),
  form(`yesterday(?:'s)?(?: (morning|afternoon|evening))?`, ([, part], { today }) => withPart(today - 1, part)),
  form(`(this|next|last|over the) weekend(?:'s)?`, ([, which], { today, past }) => {
    const weeks = stepOf(which) || (past ? -1 : 0)
    return calendar.worded(calendar.weekStart(today, weeks) + 5, 'the weekend of ')
  }),
  form(`last night(?:'s)?`, (_, { today }) => calendar.worded(today - 1, 'the night of ')),
  form(`(?:today|tonight)(?:'s)?|this (?:morning|afternoon|evening)(?:'s)?`, (_, { today }) => today),
  form(`(?:by |before |at |until |till )?(?:the )?(?:eom|eoq|eow|eoy)`, ([whole], { today }) =>
    calendar.worded(endOf(whole.slice(-1), today), leadOf(whole)),
  ),
  form(
    `(?:the )?end of (?:the )?(next |this |current )?(week|month|quarter|year)(?:'s)?`,
    ([, which, unit = ''], { today }) => endOf(unit, today, which),
  ),
  form(`(?:the )?(month|year|quarter|week)[ -]end(?!ing)`, ([, unit = ''], { today }) => endOf(unit, today)),
  form(`(?:the )?end of ${MONTH}${NO_YEAR_AFTER}`, ([, word], context) =>
    calendar.monthEnd(calendar.monthAlone(monthOf(word), context), 0),
  ),
  form(`(?:the )?end of q([1-4])${NO_YEAR_AFTER}`, ([, quarter], context) =>
    calendar.quarterEnd(calendar.yearOfQuarter(Number(quarter), context), Number(quarter)),
  ),
  form(`(?:the )?(?:start|beginning) of (?:the )?next (week|month|quarter|year)`, ([, unit = ''], { today }) =>
    unit.toLowerCase() === 'week' ? calendar.weekStart(today, 1) : endOf(unit, today) + 1,
  ),
  form(`q([1-4])${NO_YEAR_AFTER}`, ([, quarter], context) =>
    calendar.quarterSpan(calendar.yearOfQuarter(Number(quarter), context), Number(quarter)),
  ),
  form(`(this|next|last) quarter(?:'s)?`, ([, which], { today }) => {
    const { year, quarter } = calendar.quarterOf(today)
    return calendar.quarterSpan(year, quarter + stepOf(which))
  }),
  form(`(?:the )?week after next`, (_, { today }) => calendar.worded(calendar.weekStart(today, 2), 'the week of ')),
  form(`(?:the )?${LONG_DAY} after next`, ([, day], context) => coming(day, context) + 7),
  form(`the (?:following ${LONG_DAY}|${LONG_DAY} after(?: that)?)`, ([, first, second], context) =>
    coming(first ?? second, { ...context, today: context.before ?? context.today }),
  ),
  form(`(?:on )?next ${ANY_DAY}(?:'s)?`, ([, day], { today }) => calendar.inWeek(weekdayOf(day), today, 1)),
  form(`(?:on )?last ${ANY_DAY}(?:'s)?`, ([, day], context) =>
    calendar.nearest(weekdayOf(day), { ...context, past: true }),
  ),
  form(`(?:on )?this (?:coming )?${ANY_DAY}(?:'s)?`, ([, day], { today }) => calendar.inWeek(weekdayOf(day), today, 0)),
  form(`(?:the )?(?:1st|first) of (?:the )?next month`, (_, { today }) => calendar.monthStart(today, 1)),
  form(`(?:the )?(\\d{1,2})(?:st|nd|rd|th) of next month`, ([, day], { today }) =>
    calendar.dayOfMonthAway(Number(day), today, 1),
  ),
  form(`(next|last|this) week(?:'s)?`, ([, which], { today }) =>
    calendar.worded(calendar.weekStart(today, stepOf(which)), 'the week of '),
  ),
  form(`(next|last|this) month(?:'s)?`, ([, which], { today }) => calendar.monthAway(today, stepOf(which))),
  form(`${YEAR}(?:'s)?`, ([, which], { today }) => {
    const year = yearOf(which, today)
    return { text: String(year), day: calendar.quarterStart(year, 1) }
  }),
  form(`(?:in|within) (?:the next )?${NUMBER} ${UNIT}(?:' time)?`, ([whole, count, unit], { today }) =>
    calendar.worded(away(count, unit, today), /^within/i.test(whole) ? 'by ' : 'on '),
  ),
  form(`for (?:the )?next ${NUMBER} ${UNIT}`, ([, count, unit], { today }) =>
    calendar.worded(away(count, unit, today), 'until '),
  ),
  form(`${NUMBER} ${UNIT} ago`, ([, count, unit], { today }) => away(count, unit, today, -1)),
  form(
    `(?:${LONG_DAY},? )?${MONTH} (\\d{1,2})(?:st|nd|rd|th)?(?:,? (20\\d\\d))?(?! ?(?:%|ms|:|am\\b|pm\\b))`,
    ([, , month, day, year], context) => dayWithYear(month, day, year, context),
  ),
  form(`(?:the )?(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH}(?:,? (20\\d\\d))?`, ([, day, month, year], context) =>
    dayWithYear(month, day, year, context),
  ),
  form(
    `(?<=\\b(?:in|by|until|till|before|since|during|early|mid|mid-|late|end of|start of|from) ?-?)${MONTH}${NO_YEAR_AFTER}(?! \\d)`,
    ([, word], context) => {
      const day = calendar.monthAlone(monthOf(word), context)
      return { text: `${word} ${calendar.partsOf(day).year}`, day }
    },
  ),
  form(
    `(?:${ANY_DAY},? )?the (\\d{1,2})(?:st|nd|rd|th)(?! (?!and\\b|at\\b|or\\b|for\\b|so\\b|because\\b|bc\\b|since\\b|then\\b|we\\b|i\\b|the\\b|is\\b|when\\b|after\\b|before\\b|until\\b|but\\b|with\\b|to\\b)[a-z])`,
    ([, , day], context) => calendar.dayOfMonth(Number(day), context),
  ),
  form(
    `(?<!\\b(?:every|each|any|most|per) )(on )?${LONG_DAY}(?:'s)?(?: (morning|afternoon|evening|night|noon))?`,
    ([, on, day, part], context) => withPart(calendar.nearest(weekdayOf(day), context), part, on),
  ),
  form(`(?<=\\b(?:on|by|until|till|before|from|since|due) )${ANY_DAY}`, ([, day], context) =>
    calendar.nearest(weekdayOf(day), context),
  ),
]
