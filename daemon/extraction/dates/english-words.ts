/** The words of English dates: days, months, numbers, and how far away they say something is. */
import {
  addMonths,
  addWorkingDays,
  dayIn,
  iso,
  monthEnd,
  partsOf,
  quarterEnd,
  quarterOf,
  type Weekday,
  weekStart,
} from './calendar.ts'
import { type Context, type Form, plain } from './form.ts'

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

const WORDS: Record<string, number> = {
  a: 1,
  an: 1,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  fourteen: 14,
  thirty: 30,
  sixty: 60,
  ninety: 90,
  'a couple of': 2,
}

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
